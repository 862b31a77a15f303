// One pass over the launches of the process.
#include "collector/patterns/launch_gaps.h"

#include <algorithm>

namespace ddpscope::patterns {

std::vector<std::int64_t> gaps_before_launches(const model::Job& job, std::uint32_t process,
                                               const std::vector<Stretch>& stretches) {
  std::vector<std::int64_t> gaps;
  for (const Stretch& stretch : stretches) gaps.push_back(stretch.end_ns - stretch.begin_ns);
  std::size_t next = 0;
  model::for_each_in_time(job.processes[process].file,
                          {trace::Operation::kLaunch, trace::Operation::kGraphLaunch},
                          [&](model::EventPlace, const trace::Record& record) {
                            std::int64_t at_ns = job.begin_ns(process, record);
                            while (next < stretches.size() && stretches[next].end_ns <= at_ns) ++next;
                            if (next == stretches.size() || at_ns < stretches[next].begin_ns) return;
                            gaps[next] = std::max<std::int64_t>(at_ns - stretches[next].begin_ns, 1);
                            ++next;
                          });
  return gaps;
}

}  // namespace ddpscope::patterns
