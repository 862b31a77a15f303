// Which calls on communicators can never complete, by what their members issued and in which order.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collector/ordering/device_order.h"
#include "collector/ordering/device_replay.h"

namespace ddpscope::ordering {

// Members of whose calls not all are known, or which left no trace.
enum class Unknown : std::uint8_t { kCame, kMissing };

// Built from the calls that nobody knows to be complete. Empty if no host waits in vain for a send or
// receive, and there is one communicator only: its collectives are in one order. The order of a process's
// calls is that of replay_device(). What stands in the same group starts together.
class StuckWork {
 public:
  StuckWork() = default;
  StuckWork(const model::Job& job, const matching::Collectives& collectives, const DeviceOrder& device_order);

  // If all that is unknown came:
  // Sends and receives whose turn has come in all streams of their group, and which are not answered, or
  // whose answer stands behind something that cannot complete either. In the order of their numbers.
  const std::vector<std::uint32_t>& messages() const { return messages_; }
  // Calls that have to complete before this one's turn comes, and cannot; empty if its turn has come.
  std::vector<std::uint32_t> ahead_of(std::uint32_t call) const;
  bool can_complete(std::uint32_t call) const;

  // Of a send the receive, of a receive the send; kNone if it was not issued.
  std::uint32_t answer(std::uint32_t message) const;
  // Whether the wait (of DeviceOrder::waits) covers a call that cannot complete: it is in vain for that one,
  // whatever else it covers. With kMissing: that perhaps cannot.
  bool covers_stuck(std::uint32_t wait, Unknown unknown) const;

 private:
  class Reader;
  using Cover = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // by stream: its first so many groups
  // What one thread enqueued at one moment: a call, or all of a group.
  struct Group {
    std::vector<std::uint32_t> calls;
    std::vector<std::uint32_t> streams;  // each once
    Cover after;                         // of other streams: what has to be complete before
    std::uint32_t unmet = 0;             // streams, of both, that have not come so far
    bool complete = false;
  };
  struct Stream {
    std::vector<std::uint32_t> groups;                                  // in the order of enqueue
    std::uint32_t front = 0;                                            // the first that is not complete
    std::vector<std::pair<std::uint32_t, std::uint32_t>> awaited_by{};  // how far it has to come, for a group
    std::uint32_t told = 0;                                             // of awaited_by, in order
  };
  // Those that issued a collective, and those of them whose turn has come: with one and the same call.
  struct Meeting {
    std::uint32_t expected = 0, there = 0;
    std::uint32_t first = matching::kNone;  // call of those that are there
    bool complete = false, mismatched = false;
  };
  struct Wait {
    Cover cover;
    bool stuck = false, perhaps_stuck = false;
  };

  void pair_messages();
  void link();
  void run(Unknown unknown);
  void note_waits(bool Wait::*stuck);
  void advance(std::uint32_t stream);
  void come(std::uint32_t group);
  Meeting& meeting_of(std::uint32_t call);
  bool can_complete(const Group& group);
  bool call_can_complete(std::uint32_t call);
  bool has_turn(std::uint32_t call) const { return groups_[group_of_[call]].unmet == 0; }

  const matching::Collectives* collectives_ = nullptr;
  const DeviceOrder* device_order_ = nullptr;
  std::vector<Stream> streams_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> group_of_;             // by call; kNone of those that are known to be complete
  std::map<std::uint32_t, std::uint32_t> answers_;  // by call: of those that have one
  std::map<std::uint32_t, Wait> waits_;             // by number in DeviceOrder::waits
  std::vector<std::uint32_t> messages_;

  // While it runs:
  Unknown unknown_ = Unknown::kCame;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Meeting> meetings_;  // by communicator and ordinal
  std::vector<std::uint32_t> ready_;  // groups whose turn has come and that may complete
};

}  // namespace ddpscope::ordering
