// The few public CUDA runtime calls that tie communicators to devices and streams.
#pragma once

#include <cuda_runtime_api.h>

namespace ddpscope::standin::nccl {

/// Throws Failure (ncclUnhandledCudaError) unless `error` is cudaSuccess.
void check_cuda(cudaError_t error);

int current_device();

/// Makes `device` the thread's current device for a scope: the default stream is that of the current device.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  CurrentDevice(const CurrentDevice&) = delete;
  ~CurrentDevice();

 private:
  int before_;
  bool changed_;
};

/// What `second` gets from now on runs after what `first` has got so far.
void order_streams(cudaStream_t first, cudaStream_t second);

}  // namespace ddpscope::standin::nccl
