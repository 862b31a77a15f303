// Who waits only because another one waits.
#pragma once
#include <vector>

#include "collector/detectors/hangs.h"

namespace ddpscope::detectors {

// One reason for which ranks wait, and the hangs that come of it (indices of the hangs).
struct HangCause {
  // The hang at its root. Of a circle the hangs in its order: those that the first one misses wait in the
  // second, and so on, and those that the last one misses wait in the first.
  std::vector<std::size_t> chain;
  std::vector<std::vector<std::int32_t>>
      ranks;  // of a circle, by hang: those that it misses and that wait in the next
  // Of a circle: ranks that issue the call which is missing by another thread than the one that waits in the
  // next hang. That the one waits for the other is a guess: nothing is recorded of waits within a process.
  std::vector<std::int32_t> by_another_thread;
  std::vector<std::size_t> others;  // hangs of the same root, and of ranks that wait for those that wait

  bool is_circle() const { return chain.size() > 1; }
};

struct HangCauses {
  std::vector<HangCause> causes;
  // By hang: the members it misses that wait in another hang. The rest of them are at fault themselves.
  std::vector<std::vector<std::uint32_t>> victims;
};

// A member that is missing in one communicator is a victim if a thread of its process that issues calls there
// waits in another one, or if it has issued its call behind another hang's. Hangs that do not count explain
// nothing, unless they close a circle with one that does. A rank whose other thread waits is a victim only if
// that closes a circle and its own thread is in no call that tells what it does. Moves `hangs` of calls that
// all members issued to the call that is behind another one's.
HangCauses find_causes(const CallFacts& facts, const ordering::StuckWork& stuck, std::vector<Hang>& hangs);

}  // namespace ddpscope::detectors
