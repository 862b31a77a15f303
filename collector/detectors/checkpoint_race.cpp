// checkpoint-race: a rank uses, lists or renames what another one deletes or renames away, and nothing orders
// the two (rules W3 and W5: rotation beside readers, one folder renamed or deleted by all ranks).
#include "collector/detectors/file_race_story.h"

namespace ddpscope::detectors {

void detect_checkpoint_race(const Facts& facts, findings::Outcome& outcome) {
  report_races(
      facts,
      {"checkpoint-race", RaceCause::kRemoved, ": nothing orders the two",
       "Let one rank delete or rename, and let all ranks meet before it does, when they are done with "
       "the file, and after it, before they look again: barriers that the host waits for."},
      outcome);
}

}  // namespace ddpscope::detectors
