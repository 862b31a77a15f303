// Races on files, sorted into bugs, and told.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// What tells a detector of races from another.
struct RaceKind {
  const char* slug;
  bool with_barrier;  // both ranks run a barrier in between, which the host of the second one does not wait
                      // for
  const char* why;    // ends the title
  const char* advice;
};

// A finding for each bug of this kind, and what could not be judged.
void report_races(const Facts& facts, const RaceKind& kind, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
