// The kernels of the tests, launched from .cu files: nvcc compiles <<<...>>> only there.
#pragma once

#include <cuda_runtime.h>

void launch_saxpy(float a, const float* x, float* y, int n, cudaStream_t stream);
void launch_count(int* calls, dim3 grid, dim3 block, cudaStream_t stream);
void launch_without_body(int* value, cudaStream_t stream);
void launch_raise_variable(cudaStream_t stream);

const void* saxpy_function();
const void* count_function();
const void* variable_symbol();
int managed_variable();

/// In a file built with --default-stream per-thread: memset and kernel in stream 0, then a synchronous copy
/// back.
void per_thread_count(int* calls);
cudaError_t per_thread_query();
