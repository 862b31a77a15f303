// How each rank reduces its gradients in most of its steps: with the last micro-batch, as it should be,
// several times, before the last, or never.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/patterns/gradient_syncs.h"
#include "collector/patterns/repeated_reductions.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {

// Several times. Of a rank, with all its steps: as long as its trace.
struct RepeatedHabit {
  RankSteps rank;
  std::vector<RepeatedSet> redundant;  // all made the same number of times
};
// Ranks of a communicator that have it.
struct RepeatingRanks {
  RepeatedHabit first;
  std::vector<std::int32_t> ranks;  // ascending
  std::uint64_t most_steps = 0;     // redundant ones, of a rank
};

// Before the last micro-batch.
struct EarlyHabit {
  std::int32_t rank;
  std::uint32_t call;     // of the example: what reduces, into Collectives::calls
  model::EventRef input;  // of the micro-batch behind it
  std::uint32_t process;
  Update optimizer;  // that runs then
  std::size_t steps;
  std::int64_t first_ns, last_ns;
};

// Never, as far as one rank goes: it may be the only one that trains.
struct UnsynchronisedRank {
  std::int32_t rank;
  Unsynchronised what;
  std::int64_t first_ns, last_ns;  // of its updates
  std::uint32_t process;
  Update optimizer;  // the first
};

// All members of a communicator through which their model was handed out.
struct UnsynchronisedGroup {
  std::vector<UnsynchronisedRank> ranks;  // two or more, ascending

  // Why it may be otherwise, for one of them; nullptr: nothing speaks for that.
  const char* doubt() const;
};

struct ReductionHabits {
  std::map<std::uint32_t, RepeatingRanks> repeated;        // by communicator
  std::map<std::uint32_t, std::vector<EarlyHabit>> early;  // likewise
  std::vector<UnsynchronisedGroup> never;
  // Ranks, by why nothing is said of them: of repeated reductions, and of missing ones.
  std::map<std::string, std::vector<std::int32_t>> doubts, doubts_of_missing;
  std::vector<std::int32_t> captured;  // ranks whose reductions, or most of whose steps, hold graphs
  std::vector<std::int32_t>
      alone;  // ranks that update without any exchange, whether or not weights were handed out
  bool reduced = false, optimized = false;  // by any rank, at all
};

// The first two steps are left out: DistributedDataParallel arranges its buckets anew after the first. A
// habit is made of three steps at least, and half of those judged.
ReductionHabits find_reduction_habits(const model::Job& job, const matching::Collectives& collectives);

}  // namespace ddpscope::patterns
