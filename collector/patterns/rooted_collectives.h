// Broadcasts and reduces: members need not wait for each other, and some implementations let them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/turns.h"

namespace ddpscope::patterns {

bool is_rooted(trace::Operation operation);

class RootedCollectives {
 public:
  RootedCollectives(const model::Job& job, const matching::Collectives& collectives,
                    const CollectiveTimes& times, std::uint32_t communicator, const std::vector<Turn>& turns);

  // When all members were done with it, if none left before the last had come: it then held all of them, as a
  // collective in which all need each other does. Who came last is known by moments, as a receiver's time has
  // the way of the data in it and the root's has not. Nothing if clocks are too far apart for that, or if all
  // wait for a root that may hand out the inputs: that is its part in the job, and no lateness.
  std::optional<std::int64_t> held_all_until_ns(std::size_t ordinal) const;
  // Of a turn: the first collective that needs all members, if these issue it, and those before it, alike and
  // are handed out no inputs by these.
  std::optional<std::uint32_t> first_for_all(const Turn& turn) const;
  // Members that copy no inputs of their own to their devices may get them so.
  bool may_hand_out_inputs(std::size_t ordinal) const;
  // By how much longer it took one member than the quickest: at most so much is waiting.
  std::int64_t excess_ns(std::uint32_t member, std::size_t ordinal) const;

 private:
  const DeviceTime* time_of(const matching::Member& member, std::size_t ordinal) const {
    return times_.of(member.calls[ordinal]);
  }
  bool is_alike(std::size_t ordinal) const;
  bool is_comparable(std::size_t ordinal) const;
  bool copies_inputs(const matching::Member& member, const std::vector<Turn>& turns) const;

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const CollectiveTimes& times_;
  const std::vector<matching::Member>& members_;
  std::int64_t error_ns_ = 0;  // of moments of any two members
  bool have_inputs_ = true;    // all members copy inputs of their own to their devices
};

}  // namespace ddpscope::patterns
