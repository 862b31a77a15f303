// What the host waits for or asks about, and what orders streams among themselves.
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;
using ddpscope::trace::payload::DeviceOrder;

namespace {

DeviceOrder describe(cudaStream_t stream, cudaEvent_t event, std::uint32_t flags) {
  return {bits(stream), bits(event), flags, 0, device_code(), 0, 0};
}

template <Call call, class... Params, class... Args>
cudaError_t order(cudaError_t (*self)(Params...), cudaStream_t stream, cudaEvent_t event, std::uint32_t flags,
                  Args... args) {
  return cuda_call<call>(self, 0, describe(stream, event, flags), args...);
}

// Polls with the same answer are one record: the answer that differs starts a new one, because a success
// orders.
template <Call call, class... Params, class... Args>
cudaError_t query(cudaError_t (*self)(Params...), cudaStream_t stream, cudaEvent_t event, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);
  ddpscope::trace::FileWriter* file = recorder(Weight::kOpens);
  std::uint64_t begun = file ? now(*file) : 0;
  cudaError_t result;
  {
    VendorCall vendor;
    result = function(args...);
  }
  DeviceOrder description = describe(stream, event, 0);
  description.result = static_cast<std::uint16_t>(result);
  OpenRecord open = begin_folded<call>(Weight::kOpens,
                                       fold_key(bits(stream), bits(event), description.result), description);
  if (auto* fields = result_of<call>(open); fields && fields->count++ == 0) open.record->begin = begun;
  end(open);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaDeviceSynchronize() {
  return order<Call::cudaDeviceSynchronize>(&cudaDeviceSynchronize, nullptr, nullptr, 0);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return order<Call::cudaStreamSynchronize>(&cudaStreamSynchronize, stream, nullptr, 0, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return order<Call::cudaEventSynchronize>(&cudaEventSynchronize, nullptr, event, 0, event);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return query<Call::cudaStreamQuery>(&cudaStreamQuery, stream, nullptr, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
  return query<Call::cudaEventQuery>(&cudaEventQuery, nullptr, event, event);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return order<Call::cudaEventRecord>(&cudaEventRecord, stream, event, 0, event, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                     unsigned int flags) {
  return order<Call::cudaEventRecordWithFlags>(&cudaEventRecordWithFlags, stream, event, flags, event, stream,
                                               flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return order<Call::cudaStreamWaitEvent>(&cudaStreamWaitEvent, stream, event, flags, stream, event, flags);
}
