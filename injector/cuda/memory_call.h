// Allocations and their return.
#pragma once
#include <atomic>

#include "injector/cuda/copy_digests.h"
#include "injector/cuda/recording.h"
#include "trace/allocations.h"

namespace ddpscope::injector {

struct AllocationArguments {
  std::uint64_t bytes;
  cudaStream_t stream = nullptr;
  std::uint32_t flags = 0;
};

extern std::atomic<std::uint32_t> kept_allocations;

inline bool keep_allocation() {
  return kept_allocations.load(std::memory_order_relaxed) < trace::kKeptAllocations &&
         kept_allocations.fetch_add(1, std::memory_order_relaxed) < trace::kKeptAllocations;
}

// The ring must not overwrite the first ones: what a rank holds on which device is obtained early, and held
// for days. Giving back nothing is common, and tells nothing.
template <Call call>
OpenRecord begin_memory(const PayloadOf<call>& payload, Stack stack) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (!work) return {};
  bool kept = (stack != Stack::kNone || payload.address) && keep_allocation();
  if (!kept && stack == Stack::kTaken) stack = Stack::kFirst;
  std::uint32_t stack_id = stack_for<call>(*file, stack, payload.device);
  trace::Budget budget = kept ? trace::Budget::kKept : trace::Budget::kBulk;
  return this_thread.writer.open_in(*file, call, budget, &payload, sizeof(payload), now(*file), stack_id);
}

template <Call call, class... Params, class... Args>
cudaError_t allocate(cudaError_t (*self)(Params...), void* const* obtained, const AllocationArguments& a,
                     Args... args) {
  PayloadOf<call> payload{0, a.bytes, stream_number<call>(a.stream), a.flags, 1, current_device(), 0, 0};
  if constexpr (call == Call::cudaHostAlloc || call == Call::cudaHostRegister) note_host_memory(a.flags);
  auto fill = [obtained](auto& fields) { fields.address = as_number(*obtained); };
  auto begin_call = [&] { return begin_memory<call>(payload, Stack::kTaken); };
  return recorded_as<call>(self, begin_call, fill, args...);
}

template <Call call, class... Params, class... Args>
cudaError_t give_back(cudaError_t (*self)(Params...), const void* address, cudaStream_t stream,
                      Args... args) {
  PayloadOf<call> payload{as_number(address), 0, stream_number<call>(stream), 0, 1, current_device(), 0, 0};
  auto begin_call = [&] { return begin_memory<call>(payload, Stack::kNone); };
  return recorded_as<call>(self, begin_call, kNothingToFill, args...);
}

}  // namespace ddpscope::injector
