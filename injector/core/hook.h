// How a hook is written: one expression that names its call, its payload and the real function.
#pragma once
#include <errno.h>

#include "injector/core/process.h"
#include "injector/core/real.h"
#include "injector/core/stack.h"

#define DDPSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace ddpscope::injector {

using trace::Call;
using trace::OpenRecord;
using trace::PayloadOf;

enum class Stack { kNone, kTaken };

// Opens a record before the real call. What it returns is closed with end(); both leave errno as it is.
template <Call call>
inline OpenRecord begin(Weight weight, const PayloadOf<call>& payload, Stack stack = Stack::kNone) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  return this_thread.writer.open<call>(*file, payload, now(*file),
                                       stack == Stack::kTaken ? current_stack(*file) : 0);
}

// The same, or this thread's last record opened anew if that is the same call with the same key: a run of
// calls is one record. The caller counts it up; the payload given here is only the first one's, with count 0.
template <Call call>
inline OpenRecord begin_folded(Weight weight, std::uint64_t key, const PayloadOf<call>& payload) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  if (OpenRecord again = this_thread.writer.reopen(*file, call, key)) return again;
  OpenRecord open = this_thread.writer.open<call>(*file, payload, now(*file));
  this_thread.writer.set_fold_key(key);
  return open;
}

inline void end(const OpenRecord& open) {
  trace::FileWriter* file = open ? open_recorder() : nullptr;
  if (file) trace::ThreadWriter::close(*file, open, now(*file));
}

// The fields that are known only after the call; nothing to fill in when nothing was recorded.
template <class Payload>
inline Payload* results_in(const OpenRecord& open) {
  return open && open.epoch == open_epoch() ? &open.payload<Payload>() : nullptr;
}

template <Call call>
inline PayloadOf<call>* result_of(const OpenRecord& open) {
  return results_in<PayloadOf<call>>(open);
}

}  // namespace ddpscope::injector
