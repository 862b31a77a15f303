// Kernels with and without a CPU body. The bodies follow standin/README.md; no header of the stand-in is
// used.
#include "cuda_kernels.h"

__device__ int variable[4];
__managed__ int managed[2];

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

extern "C" void standin_cpu__Z5saxpyfPKfPfi(void** args, const unsigned[3], const unsigned[3]) {
  const float a = *static_cast<float*>(args[0]);
  const float* x = *static_cast<const float**>(args[1]);
  float* y = *static_cast<float**>(args[2]);
  for (int i = 0; i < *static_cast<int*>(args[3]); ++i) y[i] += a * x[i];
}
extern "C" const size_t standin_cpu__Z5saxpyfPKfPfi_sizes[] = {sizeof(float), sizeof(float*), sizeof(float*),
                                                               sizeof(int), 0};

// A plain name, an argument of odd size, and the shape of the launch.
struct Padding {
  char bytes[5];
};

extern "C" __global__ void count(Padding, int* calls) { atomicAdd(calls, 1); }

extern "C" void standin_cpu_count(void** args, const unsigned grid[3], const unsigned block[3]) {
  int* calls = *static_cast<int**>(args[1]);
  *calls += static_cast<int>(grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]);
  if (static_cast<Padding*>(args[0])->bytes[4] != 'x') *calls = -1;
}
extern "C" const size_t standin_cpu_count_sizes[] = {sizeof(Padding), sizeof(int*), 0};

extern "C" __global__ void without_body(int* value) { *value = 1; }

extern "C" __global__ void raise_variable() { ++variable[2]; }
extern "C" void standin_cpu_raise_variable(void**, const unsigned[3], const unsigned[3]) {
  int* on_device = nullptr;
  cudaGetSymbolAddress(reinterpret_cast<void**>(&on_device), variable);
  ++on_device[2];
}
extern "C" const size_t standin_cpu_raise_variable_sizes[] = {0};

void launch_saxpy(float a, const float* x, float* y, int n, cudaStream_t stream) {
  saxpy<<<(n + 255) / 256, 256, 0, stream>>>(a, x, y, n);
}

void launch_count(int* calls, dim3 grid, dim3 block, cudaStream_t stream) {
  count<<<grid, block, 0, stream>>>(Padding{{'p', 'q', 'r', 's', 'x'}}, calls);
}

void launch_without_body(int* value, cudaStream_t stream) { without_body<<<1, 1, 0, stream>>>(value); }
void launch_raise_variable(cudaStream_t stream) { raise_variable<<<1, 1, 0, stream>>>(); }

const void* count_function() { return reinterpret_cast<const void*>(count); }
const void* saxpy_function() { return reinterpret_cast<const void*>(&saxpy); }
const void* variable_symbol() { return variable; }
int managed_variable() { return ++managed[1]; }
