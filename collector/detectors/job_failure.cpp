// The ranks that failed, by how they ended.
#include "collector/detectors/job_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace ddpscope::detectors {

std::optional<findings::JobFailure> find_job_failure(const model::Job& job, const RankEnds& ends) {
  if (ends.untraced.empty() && ended_by_agreement(job, ends.recorded)) return std::nullopt;
  findings::JobFailure failure;
  std::vector<std::pair<std::int32_t, std::string>> told;
  failure.t_ns = std::numeric_limits<std::int64_t>::max();
  auto add = [&](std::int32_t rank, std::int64_t t_ns) {
    if (rank >= 0) failure.ranks.push_back(rank);
    if (t_ns >= failure.t_ns) return;
    failure.t_ns = t_ns;
    failure.first_rank = rank;
  };
  for (const RankEnd& end : ends.recorded) {
    if (!end.failed) continue;
    add(end.rank, end.began_ns);
    told.emplace_back(end.rank, end.ending.sentence);
  }
  failure.how = tell_by_ranks(told);
  for (const UntracedFailure& one : ends.untraced) {
    add(one.rank, one.to_ns);
    failure.how += fmt::format("{}{} {}", failure.how.empty() ? "" : "; ",
                               one.rank < 0 ? one.process : findings::list_ranks({one.rank}), one.sentence);
  }
  if (failure.how.empty()) return std::nullopt;
  std::sort(failure.ranks.begin(), failure.ranks.end());
  return failure;
}

}  // namespace ddpscope::detectors
