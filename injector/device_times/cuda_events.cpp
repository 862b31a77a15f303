// Resolved one by one: a runtime that lacks one of them is not used for timing.
#include "injector/device_times/cuda_events.h"

namespace ddpscope::injector {

constinit NamedFunction<cudaError_t(cudaEvent_t*, unsigned)> CudaEvents::create("cudaEventCreateWithFlags");
constinit NamedFunction<cudaError_t(cudaEvent_t, cudaStream_t)> CudaEvents::record("cudaEventRecord");
constinit NamedFunction<cudaError_t(cudaEvent_t)> CudaEvents::query("cudaEventQuery");
constinit NamedFunction<cudaError_t(float*, cudaEvent_t, cudaEvent_t)> CudaEvents::elapsed(
    "cudaEventElapsedTime");
constinit NamedFunction<cudaError_t(cudaStream_t*, unsigned)> CudaEvents::create_stream(
    "cudaStreamCreateWithFlags");
constinit NamedFunction<cudaError_t(cudaStream_t, cudaStreamCaptureStatus*)> CudaEvents::is_capturing(
    "cudaStreamIsCapturing");
constinit NamedFunction<cudaError_t(cudaStreamCaptureMode*)> CudaEvents::exchange_capture_mode(
    "cudaThreadExchangeStreamCaptureMode");
constinit NamedFunction<cudaError_t(int*)> CudaEvents::get_device("cudaGetDevice");
constinit NamedFunction<cudaError_t(int)> CudaEvents::set_device("cudaSetDevice");
constinit NamedFunction<cudaError_t()> CudaEvents::last_error("cudaGetLastError");
constinit NamedFunction<cudaError_t()> CudaEvents::peek_error("cudaPeekAtLastError");

bool CudaEvents::found() {
  return create.get() && record.get() && query.get() && elapsed.get() && create_stream.get() &&
         is_capturing.get() && exchange_capture_mode.get() && get_device.get() && set_device.get() &&
         last_error.get() && peek_error.get();
}

}  // namespace ddpscope::injector
