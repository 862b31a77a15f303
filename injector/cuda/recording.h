// Records CUDA runtime calls: one template, so that a hook is one expression.
#pragma once
#include <cuda_runtime_api.h>

#include "injector/core/device.h"
#include "injector/core/hook.h"

namespace ddpscope::injector {

// What a hook returns when the CUDA runtime cannot be found behind us.
constexpr cudaError_t kNoCuda = cudaErrorInitializationError;

inline std::uint64_t bits(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
inline std::uint8_t device_code() { return static_cast<std::uint8_t>(current_device()); }

// Runs of calls with equal keys are one record (design: the bulk budget); 0: each call is its own.
inline std::uint64_t fold_key(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0, std::uint64_t d = 0) {
  std::uint64_t hash = a;
  for (std::uint64_t word : {b, c, d}) hash = (hash ^ word) * 0x9E3779B97F4A7C15u ^ hash >> 29;
  return hash | 1;
}

template <Call call>
OpenRecord begin_cuda(std::uint64_t key, const PayloadOf<call>& payload) {
  return key ? begin_folded<call>(Weight::kOpens, key, payload) : begin<call>(Weight::kOpens, payload);
}

template <class Payload>
concept Counted = requires(Payload payload) {
  payload.count;
};

// `after` fills in what is known only once the call has returned.
template <Call call, class... Params, class After, class... Args>
cudaError_t cuda_call_then(cudaError_t (*self)(Params...), std::uint64_t key, const PayloadOf<call>& payload,
                           After after, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoCuda;
  if (inside_vendor_call()) return function(args...);  // NCCL's own
  OpenRecord open = begin_cuda<call>(key, payload);
  cudaError_t result;
  {
    VendorCall vendor;
    result = function(args...);
  }
  if (auto* fields = result_of<call>(open)) {
    if constexpr (Counted<PayloadOf<call>>) ++fields->count;
    fields->result = static_cast<std::uint16_t>(result);
    after(*fields);
  }
  end(open);
  return result;
}

template <Call call, class... Params, class... Args>
cudaError_t cuda_call(cudaError_t (*self)(Params...), std::uint64_t key, const PayloadOf<call>& payload,
                      Args... args) {
  return cuda_call_then<call>(
      self, key, payload, [](PayloadOf<call>&) {}, args...);
}

}  // namespace ddpscope::injector
