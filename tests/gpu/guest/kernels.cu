// With the CPU bodies that the stand-in CUDA runtime looks for (standin/README.md).
#include "kernels.h"

#include <time.h>

extern "C" __global__ void busy(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

extern "C" __global__ void add(float* x, float value, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] += value;
}

extern "C" void standin_cpu_busy(void** args, const unsigned[3], const unsigned[3]) {
  const unsigned long long ns = *static_cast<unsigned long long*>(args[0]);
  timespec time = {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  if (ns > 0) nanosleep(&time, nullptr);
}
extern "C" const size_t standin_cpu_busy_sizes[] = {sizeof(unsigned long long), 0};

extern "C" void standin_cpu_add(void** args, const unsigned[3], const unsigned[3]) {
  float* const x = *static_cast<float**>(args[0]);
  for (int i = 0; i < *static_cast<int*>(args[2]); ++i) x[i] += *static_cast<float*>(args[1]);
}
extern "C" const size_t standin_cpu_add_sizes[] = {sizeof(float*), sizeof(float), sizeof(int), 0};

void launch_busy(unsigned long long ns, cudaStream_t stream) { busy<<<1, 1, 0, stream>>>(ns); }

void launch_add(float* x, float value, int count, cudaStream_t stream) {
  add<<<(count + 255) / 256, 256, 0, stream>>>(x, value, count);
}
