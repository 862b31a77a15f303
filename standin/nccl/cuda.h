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

/// What a stream captures into; id 0: it captures nothing.
struct StreamCapture {
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t last =
      nullptr;  ///< what the stream gets next comes after this; null: after nothing, or more
};
StreamCapture capture_of(cudaStream_t stream);
bool captures(cudaStream_t stream);  ///< false, too, where that cannot be known

}  // namespace ddpscope::standin::nccl
