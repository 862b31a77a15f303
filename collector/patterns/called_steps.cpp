// Calls by the time at which they were made.
#include "collector/patterns/called_steps.h"

#include <algorithm>

#include "collector/patterns/framework_steps.h"

namespace ddpscope::patterns {

RankSteps find_called_steps(const model::Job& job, const matching::Collectives& groups,
                            std::uint32_t process) {
  RankSteps rank;
  rank.rank = job.processes[process].rank;
  rank.process = process;
  std::vector<std::int64_t> begins;
  for (std::uint32_t call = groups.first_of_process[process]; call < groups.first_of_process[process + 1];
       ++call) {
    StepEntry entry{};
    entry.begin_ns = groups.calls.begin_ns(call);
    entry.call = call;
    entry.place = groups.calls[call].event.place;
    entry.kind = is_reduction(groups.calls.signature(call)) ? StepEntry::Kind::kReduction
                                                            : StepEntry::Kind::kOtherCollective;
    rank.entries.push_back(entry);
    begins.push_back(entry.begin_ns);
  }
  auto first_from = [&](std::int64_t ns) {
    return static_cast<std::uint32_t>(std::lower_bound(begins.begin(), begins.end(), ns) - begins.begin());
  };
  for (const FrameworkStep& found : find_framework_steps(job, process).steps) {
    Step step{};
    step.begin_ns = rank.steps.empty() ? found.begin_ns : rank.steps.back().end_ns;
    step.end_ns = found.end_ns;
    step.first_entry = first_from(step.begin_ns);
    step.end_entry = first_from(step.end_ns);
    rank.steps.push_back(step);
  }
  rank.optimizer_seen = !rank.steps.empty();
  return rank;
}

}  // namespace ddpscope::patterns
