// What c10d's options of a collective say, at the offsets that the version of PyTorch has whose tensors were
// recognised.
#pragma once
#include "injector/torch/hooked_call.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::torch {

using trace::kNoReduction;
constexpr std::uint8_t kUnknownReduction = 0xFD;  // it has one
constexpr std::uint8_t kOwnReduction = 0xFE;      // premultiplied

enum class Mode : std::uint8_t { kUnknown, kSynchronous, kAsynchronous };

struct Options {
  std::int32_t root = -1;  // -1: none, or not known
  std::uint8_t reduction = kNoReduction;
  Mode mode = Mode::kUnknown;
  bool read = true;  // false: it has a root or a reduction that is not known
};

// `size`: ranks of the group, of which the root is one.
Options read_options(const HookedCall& call, std::int32_t size);

}  // namespace ddpscope::injector::torch
