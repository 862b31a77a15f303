// How long collectives took where they ran, and how much of that each member waited for the last one to come.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

// From when a rank's stream was free for a collective until it was done, on the job's time line. Of one that
// a thread of the host runs: from when that thread took it up.
struct DeviceTime {
  std::int64_t begin_ns, end_ns;
  std::int64_t length_ns() const { return end_ns - begin_ns; }
};

// Of one collective of a kind in which every member needs all others: none is done before the last has come,
// and then all are done at once but for what the last part takes on its way. So the shortest time is that of
// whoever came last and waited for nobody, and each other one waited for as long as its own is longer.
// Lengths are compared and never moments of two hosts: no clock's error is in it.
struct CollectiveSplit {
  std::uint32_t last;        // member
  std::int64_t transfer_ns;  // from when it came until the end
  std::int64_t longest_ns;   // of all members' times; beyond the transfer it is waiting
};

class CollectiveTimes {
 public:
  // A time belongs to a collective by its communicator and sequence or, without them, by the call that
  // enqueued it; to all of a group if the group's end did.
  CollectiveTimes(const model::Job& job, const matching::Collectives& collectives);
  // Of calls of process groups (matching/group_collectives.h) that threads of the library run on the hosts,
  // or the calling thread itself.
  static CollectiveTimes of_runs(const model::Job& job, const matching::Collectives& groups);

  bool on_hosts() const { return on_hosts_; }
  bool any() const { return !times_.empty(); }
  const DeviceTime* of(std::uint32_t call) const;  // nullptr: not timed
  // Whether its time is that of a whole group, enqueued with it.
  bool shared(std::uint32_t call) const;

  // Nothing if a member has no trace or was not timed, or members differ in what they issued; if only some
  // need the others (broadcasts); if the ends are further apart than the shortest time is long and a tenth of
  // the longest wait: then they tell nothing of who came last.
  std::optional<CollectiveSplit> split(std::uint32_t communicator, std::size_t ordinal) const;
  // The shortest of the members' times, even where their ends lie too far apart; else likewise.
  std::optional<std::int64_t> shortest_ns(std::uint32_t communicator, std::size_t ordinal) const;

 private:
  CollectiveTimes(const matching::Collectives& collectives, bool on_hosts)
      : collectives_(collectives), on_hosts_(on_hosts) {}

  const matching::Collectives& collectives_;
  bool on_hosts_;
  std::vector<DeviceTime> times_;                     // by call; empty if none was timed
  std::vector<std::vector<CollectiveSplit>> splits_;  // by communicator and ordinal
  static constexpr std::int64_t kNotTimed = -1;       // in transfer_ns
  static constexpr std::uint32_t kNotKnown = ~0U;     // in last: ends lie too far apart

  const CollectiveSplit* timed(std::uint32_t communicator, std::size_t ordinal) const;  // nullptr: not timed
  void split_all(const model::Job& job);
  std::vector<CollectiveSplit> split(const model::Job& job, const matching::Communicator& communicator) const;
};

bool needs_all_members(trace::Operation operation);

}  // namespace ddpscope::patterns
