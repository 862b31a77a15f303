#include "collector/detectors/unjudged_ranks.h"

#include <fmt/format.h>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {

void UnjudgedRanks::tell(const char* what, const char* slug, bool entirely,
                         findings::Outcome& outcome) const {
  for (const auto& [why, ranks] : ranks_)
    outcome.leave_unjudged(
        {fmt::format(fmt::runtime(what), list_ranks({ranks.begin(), ranks.end()})), why, {slug}, entirely});
}

}  // namespace ddpscope::detectors
