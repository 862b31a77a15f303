// How each rank of a job ended, and whether that is a failure.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/untraced_failures.h"

namespace ddpscope::detectors {

// A rank fails if it exits with an error before anybody sent it a signal to end, or if a signal ends it that
// nobody sends to end a job (SIGKILL, SIGSEGV, ...).
struct RankEnd {
  std::int32_t rank;
  std::uint32_t process;
  ProcessEnding ending;
  bool failed = false;
  bool killed = false;
  bool told = false;          // it was sent a signal to end before
  bool unknown = false;       // how it ended, or whether
  std::int64_t began_ns = 0;  // to end; its last record, if it was killed or nothing is known
  std::int64_t gone_ns = 0;
  bool left = false;  // ended by itself, with 0
};

struct RankEnds {
  std::vector<RankEnd> recorded;  // by rank, ascending
  std::vector<UntracedFailure> untraced;
};
RankEnds find_rank_ends(const model::Job& job);

// All ended with one code, which is neither 0 nor 1, and none of an exception: they agreed to (to be
// requeued, say). 1 is what failures end with.
bool ended_by_agreement(const model::Job& job, const std::vector<RankEnd>& ends);

// The first connection that the process gave up and after which the job did not go on there; its exit without
// one.
std::int64_t gives_up_ns(const model::Job& job, std::uint32_t process);

// "rank 0 exited with 1; ranks 2 and 3 were sent a signal to end" of how each rank ended; no more sorts of
// ends than a reader looks at.
std::string tell_by_ranks(const std::vector<std::pair<std::int32_t, std::string>>& ends);

}  // namespace ddpscope::detectors
