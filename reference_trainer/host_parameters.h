// Parameters that stay in host memory and are on the device for a step only, as CPU offloading does it.
#pragma once

#include "device.h"

namespace reference_trainer {

class HostParameters {
 public:
  // Takes over what `values` holds; the host waits.
  explicit HostParameters(const DeviceBuffer<float>& values) : values_(values), host_(values.size()) {
    values_.download(host_.span());
  }

  // Before and after a step: to the device, and back once the optimizer has run.
  void bring(cudaStream_t stream) { copy(values_.data(), host_.data(), cudaMemcpyHostToDevice, stream); }
  void take(cudaStream_t stream) { copy(host_.data(), values_.data(), cudaMemcpyDeviceToHost, stream); }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) const {
    check(cudaMemcpyAsync(to, from, values_.bytes(), kind, stream));
  }

  const DeviceBuffer<float>& values_;
  PinnedBuffer<float> host_;
};

}  // namespace reference_trainer
