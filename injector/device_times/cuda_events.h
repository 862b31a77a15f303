// The calls of the CUDA runtime that timing itself makes: past our own hooks, so none of them is recorded.
#pragma once
#include <cuda_runtime_api.h>

#include "injector/core/real.h"

namespace ddpscope::injector {

struct CudaEvents {
  static bool found();  // all that are needed
  // Our failure must not become the guest's, whose last error was success before.
  static bool succeeded(cudaError_t result) {
    if (result == cudaSuccess) return true;
    last_error.get()();
    return false;
  }

  static NamedFunction<cudaError_t(cudaEvent_t*, unsigned)> create;
  static NamedFunction<cudaError_t(cudaEvent_t, cudaStream_t)> record;
  static NamedFunction<cudaError_t(cudaEvent_t)> query;
  static NamedFunction<cudaError_t(float*, cudaEvent_t, cudaEvent_t)> elapsed;
  static NamedFunction<cudaError_t(cudaStream_t*, unsigned)> create_stream;
  static NamedFunction<cudaError_t(cudaStream_t, cudaStreamCaptureStatus*)> is_capturing;
  static NamedFunction<cudaError_t(cudaStreamCaptureMode*)> exchange_capture_mode;
  static NamedFunction<cudaError_t(int*)> get_device;
  static NamedFunction<cudaError_t(int)> set_device;
  static NamedFunction<cudaError_t()> last_error;
  static NamedFunction<cudaError_t()> peek_error;
};

}  // namespace ddpscope::injector
