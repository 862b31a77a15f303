// A recursion over the collectives of a turn.
#include "collector/patterns/lost_time.h"

#include <algorithm>

namespace ddpscope::patterns {

void LossOfTurn::add(const Coming& coming) {
  std::int64_t late_ns = std::max<std::int64_t>(coming.behind_ns, 0);
  std::int64_t free_ns = std::max<std::int64_t>(coming.idle_ns, 0) + late_ns;  // since the collective before
  bool fresh = coming.level > level_;
  level_ = std::max(level_, coming.level);
  bool all_shows = fresh && level_ + 1 == until_.size();  // nothing has held the stream since
  std::int64_t lead_ns = coming.behind_ns;
  if (!all_shows) lead_ns += std::max<std::int64_t>(coming.ready_ns, 0);
  bool shows = all_shows || coming.idle_ns > tolerance_ns_ || coming.ready_ns != kUnknown;
  lead_ns_ = shows || fresh ? lead_ns : std::max(lead_ns, lead_ns_);
  const LostTime& before = until_[level_];
  least_ns_ = std::min(free_ns + least_ns_, lead_ns_ + before.least_ns);
  most_ns_ += free_ns;
  if (shows)
    most_ns_ = std::min(
        most_ns_, std::max<std::int64_t>(lead_ns, 0) + (coming.may_follow ? highest_ns_ : before.most_ns));
  highest_ns_ = std::max(highest_ns_, most_ns_);
  until_.push_back({least_ns_, most_ns_});
}

LostTime LossOfTurn::lost() const {
  std::int64_t least_ns = std::max<std::int64_t>(least_ns_, 0);
  return {least_ns, std::max(most_ns_, least_ns)};
}

}  // namespace ddpscope::patterns
