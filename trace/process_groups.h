// The flags in records of the calls of PyTorch and MPI: who writes and who reads them share these. Their
// names in `dump` are in named_values.def.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

// GroupCollective::flags. Neither of the first two: PyTorch's structure does not say.
enum GroupFlags : std::uint32_t {
  kAsynchronous = 1,
  kSynchronous = 2,
  kByReducer = 4,  // DistributedDataParallel called it
  kUnread = 8,     // count, type, operation and root could not be read
  kBlocking = 16,  // the call returns when its own part is done: nobody waits for it elsewhere
};

// GroupWork::flags.
enum WorkFlags : std::uint8_t {
  kAtOnce = 1,  // a wait that is what the thread did next after it had made the call
};

// TrainingCall::flags, of a backward pass.
enum TrainingFlags : std::uint8_t {
  kAccumulate = 1,  // gradients are added to leaves
  kCreateGraph = 2,
  kKeepGraph = 4,
};

constexpr std::uint8_t kNoReduction = 0xFF;  // GroupCollective::reduction: the operation has none

}  // namespace ddpscope::trace
