// ineffective-barrier: a barrier stands between writing and reading, but the host goes on without waiting for
// it (bug a1 of the catalogue: the stream of another device is waited for, or none).
#include "collector/detectors/file_race_story.h"

namespace ddpscope::detectors {

void detect_ineffective_barrier(const Facts& facts, findings::Outcome& outcome) {
  report_races(
      facts,
      {"ineffective-barrier", RaceCause::kUnheeded, ": the host does not wait for the barrier in between",
       "Let the host wait for the barrier: set the process's device before the group is made "
       "(torch.cuda.set_device(local_rank)), so that the wait is for the stream in which the "
       "barrier runs; call wait() on what an asynchronous one returns."},
      outcome);
}

}  // namespace ddpscope::detectors
