// How a hook is written: one expression that names its call, its payload and the real function.
#pragma once
#include <initializer_list>

#include "injector/core/process.h"
#include "injector/core/real.h"
#include "injector/core/stack.h"

#define DDPSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace ddpscope::injector {

using trace::Call;
using trace::OpenRecord;
using trace::PayloadOf;

// kFirst: with the first call of its kind from its call site; what is a kind, `key` says.
enum class Stack { kNone, kFirst, kTaken };

template <Call call>
inline std::uint32_t stack_for(trace::FileWriter& file, Stack stack, std::uint64_t key) {
  bool taken = stack == Stack::kTaken || (stack == Stack::kFirst && is_first(file, call, key));
  return taken ? current_stack(file) : 0;
}

// Opens a record before the real call. What it returns is closed with end(); both leave errno as it is.
template <Call call>
inline OpenRecord begin(Weight weight, const PayloadOf<call>& payload, Stack stack = Stack::kNone,
                        std::uint64_t key = 0) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  std::uint32_t stack_id = stack_for<call>(*file, stack, key);  // before the clock is read
  return this_thread.writer.open<call>(*file, payload, now(*file), stack_id);
}

// The same for kept calls that recur with the same arguments.
template <Call call>
inline OpenRecord begin_regular(Weight weight, const PayloadOf<call>& payload) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  return this_thread.writer.open_regular<call>(*file, payload, now(*file));
}

// As begin(), or this thread's last record opened anew if that is the same call with the same key: a run of
// calls is one record. The caller counts it up; `payload_in`, given the file, makes the first one's, with
// count 0.
template <Call call, class PayloadIn>
inline OpenRecord begin_folded_in(Weight weight, std::uint64_t key, PayloadIn payload_in,
                                  Stack stack = Stack::kNone) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  key |= 1;  // 0 is the key of records that do not fold
  if (OpenRecord again = this_thread.writer.reopen(*file, call, key)) return again;
  const PayloadOf<call> payload = payload_in(*file);
  std::uint32_t stack_id = stack_for<call>(*file, stack, key);
  OpenRecord open = this_thread.writer.open<call>(*file, payload, now(*file), stack_id);
  this_thread.writer.set_fold_key(key);
  return open;
}

template <Call call>
inline OpenRecord begin_folded(Weight weight, std::uint64_t key, const PayloadOf<call>& payload,
                               Stack stack = Stack::kNone) {
  return begin_folded_in<call>(
      weight, key, [&](trace::FileWriter&) -> const PayloadOf<call>& { return payload; }, stack);
}

inline std::uint64_t as_number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// What takes no time: no call, or one that only tells something. Must be called inside OwnWork.
template <Call call>
inline void record_moment(trace::FileWriter& file, const PayloadOf<call>& payload, std::uint32_t stack = 0) {
  std::uint64_t ticks = now(file);
  trace::ThreadWriter::close(file, this_thread.writer.open<call>(file, payload, ticks, stack), ticks);
}

// Mixes what tells one run of calls from another.
constexpr std::uint64_t fold_key(std::initializer_list<std::uint64_t> words) {
  std::uint64_t hash = 0;
  for (std::uint64_t word : words) hash = ((hash ^ word) * 0x9E3779B97F4A7C15u) ^ (hash >> 29);
  return hash;
}

// The file that the record is in; nullptr: nothing was recorded, or it is from before a fork and the
// parent's.
inline trace::FileWriter* file_of(const OpenRecord& open) {
  trace::FileWriter* file = open ? open_recorder() : nullptr;
  return file && open.epoch == file->epoch() ? file : nullptr;
}

inline void end(const OpenRecord& open) {
  if (trace::FileWriter* file = file_of(open)) trace::ThreadWriter::close(*file, open, now(*file));
}

// The fields that are known only after the call; nothing to fill in when nothing was recorded.
template <class Payload>
inline Payload* results_in(const OpenRecord& open) {
  return file_of(open) ? &open.payload<Payload>() : nullptr;
}
template <Call call>
inline PayloadOf<call>* result_of(const OpenRecord& open) {
  return results_in<PayloadOf<call>>(open);
}

// Ends a run of calls where the next one must not be folded into it.
inline void end_run() { this_thread.writer.set_fold_key(0); }

}  // namespace ddpscope::injector
