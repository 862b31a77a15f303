// Records CUDA calls: one template per payload, so that a hook is one expression.
#pragma once
#include <cuda_runtime_api.h>

#include <string_view>

#include "injector/core/hook.h"
#include "injector/cuda/device.h"

namespace ddpscope::injector {

// What a hook returns when the CUDA runtime cannot be found behind us.
constexpr cudaError_t kNoCuda = cudaErrorSharedObjectSymbolNotFound;

template <Call call>
consteval std::string_view symbol_of() {
  for (const trace::CallInfo& info : trace::kCalls)
    if (info.call == call) return info.symbol;
  return "";
}

// The symbols _ptsz and _ptds are for programs compiled with --default-stream per-thread.
template <Call call>
consteval bool is_per_thread() {
  return symbol_of<call>().ends_with("_ptsz") || symbol_of<call>().ends_with("_ptds");
}

// The stream as it is recorded: there, 0 is the calling thread's own.
template <Call call>
std::uint64_t stream_number(cudaStream_t stream) {
  return as_number(!stream && is_per_thread<call>() ? cudaStreamPerThread : stream);
}

// After the real call: its result, and the device if this was the thread's first.
template <class Payload>
void finish(const OpenRecord& open, cudaError_t result) {
  Payload* fields = results_in<Payload>(open);
  if (!fields) return;
  if (result == cudaSuccess) ask_device();
  fields->result = static_cast<std::uint16_t>(result);
  if constexpr (requires { fields->stream; }) fields->device = current_device();
  end(open);
}

// Calls that are records of their own, opened by `begin_call`. `fill` writes what only the call's return
// tells.
template <Call call, class Begin, class Fill, class... Params, class... Args>
cudaError_t recorded_as(cudaError_t (*self)(Params...), Begin begin_call, Fill fill, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);
  OpenRecord open = begin_call();
  VendorCall vendor;
  cudaError_t result = function(args...);
  if (auto* fields = result_of<call>(open); fields && result == cudaSuccess) fill(*fields);
  finish<PayloadOf<call>>(open, result);
  return result;
}

template <Call call, class Fill, class... Params, class... Args>
cudaError_t recorded(cudaError_t (*self)(Params...), const PayloadOf<call>& payload, Stack stack, Fill fill,
                     Args... args) {
  auto begin_call = [&] { return begin<call>(Weight::kOpens, payload, stack); };
  return recorded_as<call>(self, begin_call, fill, args...);
}

constexpr auto kNothingToFill = [](auto&) {};

// Calls of which runs become one record; `add` counts this one into it, the result is the last one's. `then`
// is called with the record when the call has succeeded.
template <Call call, class Add, class Then, class... Params, class... Args>
cudaError_t folded(cudaError_t (*self)(Params...), std::uint64_t key, const PayloadOf<call>& payload, Add add,
                   Then then, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);
  OpenRecord open = begin_folded<call>(Weight::kOpens, key, payload, Stack::kFirst);
  VendorCall vendor;
  cudaError_t result = function(args...);
  if (auto* fields = result_of<call>(open)) add(*fields);
  finish<PayloadOf<call>>(open, result);
  if (result == cudaSuccess)
    then(open);
  else
    end_run();
  return result;
}

// Streams and events: creation, recording, waiting.
struct OrderArguments {
  cudaStream_t stream;
  const void* event = nullptr;
  std::uint32_t flags = 0;
};

template <Call call>
PayloadOf<call> order_payload(const OrderArguments& a) {
  return {stream_number<call>(a.stream), as_number(a.event), a.flags, 1, current_device(), 0, 0};
}

template <Call call, class... Params, class... Args>
cudaError_t order(cudaError_t (*self)(Params...), const OrderArguments& arguments, Args... args) {
  constexpr Stack stack = trace::kBudgetOf<call> == trace::Budget::kKept ? Stack::kTaken : Stack::kNone;
  return recorded<call>(self, order_payload<call>(arguments), stack, kNothingToFill, args...);
}

}  // namespace ddpscope::injector
