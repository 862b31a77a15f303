// A file built with --default-stream per-thread: stream 0 is the calling thread's own.
#include "cuda_kernels.h"

extern "C" __global__ void count_on_own_stream(int* calls) { atomicAdd(calls, 1); }
extern "C" void standin_cpu_count_on_own_stream(void** args, const unsigned grid[3],
                                                const unsigned block[3]) {
  **static_cast<int**>(args[0]) += static_cast<int>(grid[0] * block[0]);
}
extern "C" const size_t standin_cpu_count_on_own_stream_sizes[] = {sizeof(int*), 0};

void per_thread_count(int* calls) {
  int* counter;
  cudaMalloc(&counter, sizeof(int));
  cudaMemsetAsync(counter, 0, sizeof(int));
  count_on_own_stream<<<2, 32>>>(counter);
  cudaMemcpy(calls, counter, sizeof(int), cudaMemcpyDeviceToHost);
}

cudaError_t per_thread_query() { return cudaStreamQuery(0); }
