// The kernels of gpu_guest.
#pragma once
#include <cuda_runtime_api.h>

// Keeps one processor of the device busy for so long.
void launch_busy(unsigned long long ns, cudaStream_t stream);

// x[i] += value
void launch_add(float* x, float value, int count, cudaStream_t stream);
