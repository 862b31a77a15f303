// Whether a rank that waits for its device may do so for a signal of a peer's (ncclWaitSignal).
#pragma once
#include <cstdint>
#include <optional>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Signals are counted for each two members of a communicator, in whatever order they come.
struct OwedSignals {
  std::uint32_t waiting, peer;  // ranks of the job; the same: which peer, or how many signals, is not known
  std::uint64_t awaited, sent;
};

// Of what the process's waits for signals want, more than the peers had issued by then; nothing if each wait
// has its signals.
std::optional<OwedSignals> find_owed_signals(const CallFacts& facts, std::uint32_t process,
                                             std::int64_t by_ns);

}  // namespace ddpscope::detectors
