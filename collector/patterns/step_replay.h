// Steps of a training job made anew, with what is known of its host calls, kernels and link, and made without
// some of its collectives.
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "collector/matching/collectives.h"
#include "collector/patterns/device_calls.h"
#include "collector/patterns/link_cost.h"

namespace ddpscope::patterns {

struct ReplayedRank {
  const ordering::Streams* streams;
  const StretchOfCalls* calls;
};

// How much shorter the stretches would have been together without the collectives that `left_out` names by
// their numbers in Collectives::calls. They begin with idle devices and end when the host knows that they are
// idle again.
//
// The rules of the replay. A host does its calls in order, and takes the time for them that it took; a wait
// ends when what it waits for does. A stream's kernels and collectives run one after the other, behind the
// events that it awaits. A collective begins when all ranks' streams have come to it and takes the link's
// time. Launches take one time each, that with which the replay is as long as the stretch was. With a
// collective that is left out goes the host's time for the call, and a wait for nothing else than it.
// Nothing if ranks came to collectives in orders that do not agree.
std::optional<double> saved_ns(const matching::Collectives& collectives, const LinkCost& link,
                               std::span<const ReplayedRank> ranks,
                               const std::function<bool(std::uint32_t)>& left_out);

}  // namespace ddpscope::patterns
