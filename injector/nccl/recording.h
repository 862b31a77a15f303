// Records NCCL calls: one template per payload, so that a hook is one expression.
#pragma once
#include <nccl.h>

#include <type_traits>

#include "injector/core/hook.h"
#include "injector/cuda/captures.h"
#include "injector/nccl/communicators.h"
#include "injector/nccl/timed_calls.h"

namespace ddpscope::injector {

// What a hook knows of a collective.
struct CollectiveArguments {
  ncclComm_t communicator;
  std::uint64_t count;
  ncclDataType_t type;
  cudaStream_t stream;
  const void* buffer;              // where the result goes, or comes from if nothing is received
  std::uint32_t reduction = 0xFF;  // 0xFF: none
  std::int32_t peer = -1;          // root or other end
};

constexpr std::uint8_t kNoReduction = 0xFF;
constexpr std::uint8_t kOwnReduction = 0xFE;  // made by ncclRedOpCreatePreMulSum

inline std::uint8_t reduction_code(std::uint32_t reduction) {
  if (reduction == kNoReduction) return kNoReduction;
  return reduction < ncclNumOps ? static_cast<std::uint8_t>(reduction) : kOwnReduction;
}

template <Call call>
[[gnu::always_inline]] inline OpenRecord begin_collective(const CollectiveArguments& a) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (!work) return {};
  CommunicatorTurn turn = take_turn(a.communicator);
  trace::payload::Collective payload{turn.number,
                                     turn.sequence,
                                     a.count,
                                     reinterpret_cast<std::uint64_t>(a.stream),
                                     reinterpret_cast<std::uint64_t>(a.buffer),
                                     a.peer,
                                     static_cast<std::uint8_t>(a.type),
                                     reduction_code(a.reduction),
                                     turn.device,
                                     0};
  std::uint32_t stack = current_stack(*file);
  return this_thread.writer.open_regular<call>(*file, payload, now(*file), stack);
}

template <class Payload>
[[gnu::always_inline]] inline void finish(const OpenRecord& open, ncclResult_t result) {
  trace::FileWriter* file = file_of(open);
  if (!file) return;
  open.payload<Payload>().result = static_cast<std::uint8_t>(result);
  trace::ThreadWriter::close(*file, open, now(*file));
}

// What a hook returns when NCCL cannot be found behind us.
constexpr ncclResult_t kNoNccl = ncclSystemError;

template <Call call, class... Params, class... Args>
ncclResult_t collective(ncclResult_t (*self)(Params...), const CollectiveArguments& arguments, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);  // ncclBcast calls ncclBroadcast: one operation
  OpenRecord open = begin_collective<call>(arguments);
  bool captured = note_if_captured(open, arguments.stream);
  VendorCall vendor;
  TimedCollective timed(open, arguments.stream);
  if (captured) timed.note_captured();
  ncclResult_t result = function(args...);
  finish<PayloadOf<call>>(open, result);
  timed.end(result);
  return result;
}

// Calls on a communicator, queries and memory. `argument` is known before the call or, as a function of
// nothing, after it.
template <Call call, class Argument, class... Params, class... Args>
ncclResult_t communicator_call(ncclResult_t (*self)(Params...), ncclComm_t communicator, Argument argument,
                               Args... args) {
  constexpr bool known_before = std::is_convertible_v<Argument, std::uint64_t>;
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);
  CommunicatorState* known = find_communicator(communicator);
  PayloadOf<call> payload{as_number(communicator), 0, known ? known->number : 0, 1, 0, 0};
  if constexpr (known_before) payload.argument = argument;
  OpenRecord open = begin<call>(Weight::kOpens, payload);
  VendorCall vendor;
  ncclResult_t result = function(args...);
  if constexpr (!known_before)
    if (auto* fields = result_of<call>(open); fields && result == ncclSuccess) fields->argument = argument();
  finish<PayloadOf<call>>(open, result);
  return result;
}

}  // namespace ddpscope::injector
