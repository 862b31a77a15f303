// ineffective-barrier: a barrier stands between writing and reading, but the host goes on without waiting for
// it (bug a1 of the catalogue: the stream of another device is waited for, or none).
#include "collector/detectors/file_race_story.h"

namespace ddpscope::detectors {

void detect_ineffective_barrier(const Facts& facts, findings::Outcome& outcome) {
  for (const RaceBug& bug : find_race_bugs(facts, true)) {
    findings::Finding finding = tell_race(facts, bug);
    finding.slug = "ineffective-barrier";
    finding.title = describe_race(facts, bug) + ": the host does not wait for the barrier in between";
    finding.advice =
        "Let the host wait for the barrier: set the process's device before the group is made "
        "(torch.cuda.set_device(local_rank)), so that the wait is for the stream in which the barrier runs; "
        "call wait() on what an asynchronous one returns.";
    outcome.findings.push_back(std::move(finding));
  }
  add_race_coverage(facts, "ineffective-barrier", outcome);
}

}  // namespace ddpscope::detectors
