// Which rank failed first, whatever the ranks talk by.
#pragma once
#include <optional>

#include "collector/detectors/rank_ends.h"
#include "collector/findings/finding.h"

namespace ddpscope::detectors {

// A rank fails if it exits with an error before anybody sent it a signal to end, or if a signal ends it that
// nobody sends to end a job (SIGKILL, SIGSEGV, ...). It is the first if it began to end before every other
// one that failed: the time of the traceback that it ended of, else of the first connection that it gave up
// for good, else of its exit; peers learn of its end by just these connections. One that failed before it
// made any recorded call is known by its launcher. Nothing, where
// - none failed, or fewer than two ranks were recorded;
// - all exited with one code other than 1, and the first without a traceback: they agreed to end so;
// - two were killed within a second: somebody kills the job, rank by rank;
// - the clocks of two hosts cannot tell which of two was the first;
// - another rank's trace had stopped before, and how it ended nobody saw.
std::optional<findings::FirstFailure> find_first_failure(const model::Job& job, const RankEnds& all);

}  // namespace ddpscope::detectors
