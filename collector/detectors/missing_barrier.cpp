// missing-barrier: a rank reads, opens or looks for what another one writes or makes, and nothing orders the
// two (bugs a2, a3 of the catalogue, and a barrier that nobody wrote).
#include "collector/detectors/file_race_story.h"
#include "collector/detectors/unmade_files.h"

namespace ddpscope::detectors {

void detect_missing_barrier(const Facts& facts, findings::Outcome& outcome) {
  report_races(facts,
               {"missing-barrier", RaceCause::kForgotten, ": nothing orders the two",
                "Let all ranks meet between the writing and the reading: a barrier that the host waits for, "
                "after the rank that writes has closed the file and before the others open it."},
               outcome);
  add_unmade_files(facts, outcome);
}

}  // namespace ddpscope::detectors
