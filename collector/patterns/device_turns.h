// The collectives of a turn by their times on the devices, or in threads of the hosts that run them: who came
// when to each, and what that costs.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/patterns/behind_kernels.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/foreign_waits.h"
#include "collector/patterns/lost_time.h"
#include "collector/patterns/rooted_collectives.h"
#include "collector/patterns/turns.h"

namespace ddpscope::patterns {

// Of one member in one collective.
struct MemberComing {
  std::int64_t from_ns, begin_ns;  // since the turn before was over; its stream was free for it
  std::int64_t length_ns;          // from then until the end: the shorter, the later it came
  std::int64_t foreign_ns;  // that it had to do with others in the meantime, since all last began to work
  std::int64_t idle_ns;     // that its stream lay idle before
  std::int64_t ready_ns;    // as in Coming
  std::int64_t waited_ns;   // for others in collectives with a root, since the one before
};

class DeviceTurn {
 public:
  enum class Work : bool { kAll, kOwn };  // also what it had to do with others, or not
  struct Row {
    std::uint32_t ordinal;
    std::size_t level;  // as in Coming
    bool may_follow;
    std::vector<MemberComing> members;
  };
  DeviceTurn(std::vector<Row> rows, std::int64_t length_ns, std::int64_t open_ns)
      : rows_(std::move(rows)), length_ns_(length_ns), open_ns_(open_ns) {}

  std::int64_t length_ns() const { return length_ns_; }
  // What one member may have waited in collectives that are no rows: broadcasts and the like.
  std::int64_t open_ns() const { return open_ns_; }
  const Row& last() const { return rows_.back(); }
  // In which a member waits longest.
  const Row& longest() const;
  // By how much each member is late at the end, beyond the typical one, the middle one (of an even number the
  // sooner) by what it waits in all. Its sooner comings count against the later ones.
  std::vector<LostTime> late() const;
  // What would be won if these members (by member) came with the last of the others: by what they do
  // themselves, or whatever makes them late.
  LostTime lost_by(const std::vector<bool>& late) const;
  LostTime waited_for(const std::vector<bool>& late) const { return lost_by(late, Work::kAll); }
  // How long the last of the others waited for the last of these.
  std::int64_t waited_ns(std::uint32_t ordinal, const std::vector<bool>& late) const;

 private:
  LostTime lost_by(const std::vector<bool>& late, Work work) const;

  std::vector<Row> rows_;  // at least one
  std::int64_t length_ns_, open_ns_;
};

class DeviceTurns {
 public:
  // foreign: by member.
  DeviceTurns(const model::Job& job, const matching::Collectives& collectives,
              const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
              std::uint32_t communicator, const RootedCollectives& rooted,
              const std::vector<ForeignWaits>& foreign);
  // A turn is over with its last collective that holds up the devices (behind_kernels.h): all begin anew
  // behind it. What they wait for later belongs to the next one. Nothing if none of either can be split.
  std::optional<DeviceTurn> read(const Turn& before, const Turn& turn) const;

 private:
  bool is_row(std::uint32_t ordinal) const;
  std::optional<std::uint32_t> end_of(const Turn& turn) const;
  MemberComing coming_of(std::uint32_t member, std::uint32_t ordinal, std::int64_t end_ns,
                         std::uint32_t before, std::uint32_t level, std::uint32_t start) const;
  std::int64_t waited_ns(std::uint32_t member, const std::vector<std::uint32_t>& rooted) const;
  std::int64_t open_ns(const std::vector<std::uint32_t>& rooted) const;
  const DeviceTime& time_of(std::uint32_t member, std::uint32_t ordinal) const {
    return *times_.of(members_[member].calls[ordinal]);
  }

  const CollectiveTimes& times_;
  std::uint32_t communicator_;
  const std::vector<matching::Member>& members_;
  const RootedCollectives& rooted_;
  const std::vector<ForeignWaits>& foreign_;
  std::vector<AmongKernels> among_;                      // of the first member: all run the same program
  std::vector<std::vector<std::int64_t>> kernels_done_;  // by member and ordinal; empty if not known
};

}  // namespace ddpscope::patterns
