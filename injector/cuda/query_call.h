// Streams and events: creation, polling, and waiting for a stream.
#pragma once
#include "injector/cuda/recording.h"
#include "injector/cuda/value_reads.h"

namespace ddpscope::injector {

// A poll does not block: it is recorded when its answer is there. Polls with the same answer are one record;
// "done" is another, because it orders.
template <Call call, class... Params, class... Args>
cudaError_t query(cudaError_t (*self)(Params...), const OrderArguments& arguments, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);
  trace::FileWriter* file = recorder(Weight::kOpens);
  std::uint64_t begun = file ? now(*file) : 0;
  VendorCall vendor;
  cudaError_t result = function(args...);
  PayloadOf<call> payload = order_payload<call>(arguments);
  payload.count = 0;
  std::uint64_t key = fold_key({payload.stream, payload.event, static_cast<std::uint64_t>(result)});
  OpenRecord open = begin_folded<call>(Weight::kOpens, key, payload);
  if (auto* fields = result_of<call>(open); fields && fields->count++ == 0) open.record->begin = begun;
  finish<PayloadOf<call>>(open, result);
  return result;
}

template <Call call, class... Params, class... Args>
cudaError_t await_stream(cudaError_t (*self)(Params...), cudaStream_t stream, Args... args) {
  OpenRecord wait;
  auto begin_call = [&] {
    return wait = begin<call>(Weight::kOpens, order_payload<call>({stream}), Stack::kTaken);
  };
  cudaError_t result = recorded_as<call>(self, begin_call, kNothingToFill, args...);
  if (wait && result == cudaSuccess) take_awaited_value(wait, stream_number<call>(stream));
  return result;
}

template <Call call, class... Params, class... Args>
cudaError_t create_stream(cudaError_t (*self)(Params...), const cudaStream_t* created, unsigned flags,
                          Args... args) {
  auto fill = [created](auto& fields) { fields.stream = as_number(*created); };
  return recorded<call>(self, order_payload<call>({nullptr, nullptr, flags}), Stack::kTaken, fill, args...);
}

template <Call call, class... Params, class... Args>
cudaError_t create_event(cudaError_t (*self)(Params...), const cudaEvent_t* created, unsigned flags,
                         Args... args) {
  auto fill = [created](auto& fields) { fields.event = as_number(*created); };
  return recorded<call>(self, order_payload<call>({nullptr, nullptr, flags}), Stack::kNone, fill, args...);
}

}  // namespace ddpscope::injector
