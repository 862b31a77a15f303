// The number that stands for all functions of NCCL that do the same (ncclfunction in trace/named_values.def):
// that of their operation's first row in trace/calls.def.
#pragma once
#include <cstdint>

#include "trace/calls.h"

namespace ddpscope::injector {

constexpr std::uint8_t row_of(trace::Call function) { return static_cast<std::uint8_t>(function); }

// `call`: of a collective, send or receive.
inline std::uint8_t function_of(std::uint16_t call) {
  std::uint16_t first = 1;
  while (trace::operation_of(first) != trace::operation_of(call)) ++first;
  return static_cast<std::uint8_t>(first);
}

}  // namespace ddpscope::injector
