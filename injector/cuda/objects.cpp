// Streams, events and devices as they come and go.
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;
using ddpscope::trace::payload::DeviceOrder;

namespace {

DeviceOrder describe(cudaStream_t stream, cudaEvent_t event, std::uint32_t flags) {
  return {bits(stream), bits(event), flags, 0, device_code(), 0, 0};
}

template <Call call, class... Params, class... Args>
cudaError_t create_stream(cudaError_t (*self)(Params...), cudaStream_t* stream, std::uint32_t flags,
                          Args... args) {
  return cuda_call_then<call>(
      self, 0, describe(nullptr, nullptr, flags),
      [stream](DeviceOrder& payload) {
        if (stream && payload.result == cudaSuccess) payload.stream = bits(*stream);
      },
      args...);
}

template <Call call, class... Params, class... Args>
cudaError_t create_event(cudaError_t (*self)(Params...), cudaEvent_t* event, std::uint32_t flags,
                         Args... args) {
  return cuda_call_then<call>(
      self, 0, describe(nullptr, nullptr, flags),
      [event](DeviceOrder& payload) {
        if (event && payload.result == cudaSuccess) payload.event = bits(*event);
      },
      args...);
}

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return create_stream<Call::cudaStreamCreate>(&cudaStreamCreate, pStream, 0, pStream);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return create_stream<Call::cudaStreamCreateWithFlags>(&cudaStreamCreateWithFlags, pStream, flags, pStream,
                                                        flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags,
                                                         int priority) {
  return create_stream<Call::cudaStreamCreateWithPriority>(&cudaStreamCreateWithPriority, pStream, flags,
                                                           pStream, flags, priority);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return cuda_call<Call::cudaStreamDestroy>(&cudaStreamDestroy, 0, describe(stream, nullptr, 0), stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create_event<Call::cudaEventCreate>(&cudaEventCreate, event, 0, event);
}

DDPSCOPE_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return create_event<Call::cudaEventCreateWithFlags>(&cudaEventCreateWithFlags, event, flags, event, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return cuda_call<Call::cudaEventDestroy>(&cudaEventDestroy, 0, describe(nullptr, event, 0), event);
}

// The device counts as current once the call has succeeded. A loop that sets the same device again is one
// record.
DDPSCOPE_EXPORT cudaError_t cudaSetDevice(int device) {
  cudaError_t result = cuda_call<Call::cudaSetDevice>(
      &cudaSetDevice, fold_key(static_cast<std::uint64_t>(device), 1), {0, 0, device, 0, 0}, device);
  if (result == cudaSuccess && !inside_vendor_call()) this_thread.device = device;
  return result;
}

DDPSCOPE_EXPORT cudaError_t cudaDeviceReset() {
  return cuda_call<Call::cudaDeviceReset>(&cudaDeviceReset, 0, {0, 0, current_device(), 0, 0});
}
