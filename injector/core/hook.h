// How a hook is written: one expression that names its call, its payload and the real function.
#pragma once
#include <errno.h>

#include "injector/core/process.h"
#include "injector/core/real.h"

#define DDPSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace ddpscope::injector {

using trace::Call;
using trace::OpenRecord;
using trace::PayloadOf;

// Opens a record before the real call. What it returns is closed with end(); both leave errno as it is.
template <Call call>
inline OpenRecord begin(Weight weight, const PayloadOf<call>& payload, std::uint32_t stack = 0) {
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  return this_thread.writer.open<call>(*file, payload, now(*file), stack);
}

inline void end(const OpenRecord& open) {
  trace::FileWriter* file = open ? open_recorder() : nullptr;
  if (file) trace::ThreadWriter::close(*file, open, now(*file));
}

}  // namespace ddpscope::injector
