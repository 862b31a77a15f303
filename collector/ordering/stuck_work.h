// Which calls on communicators can never complete, by what their members issued and in which order.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collector/ordering/device_order.h"

namespace ddpscope::ordering {

// Built from the calls that nobody knows to be complete. Empty if no host waits in vain for a send or
// receive, or for collectives of two communicators: those of one are in one order.
class StuckWork {
 public:
  StuckWork() = default;
  StuckWork(const matching::Collectives& collectives, const DeviceOrder& device_order);

  // Sends and receives whose turn has come in all streams of their group, and which are not answered, or
  // whose answer stands behind something that cannot complete either. In the order of their numbers.
  const std::vector<std::uint32_t>& messages() const { return messages_; }
  // Of a send the receive, of a receive the send; kNone if it was not issued.
  std::uint32_t answer(std::uint32_t message) const;
  // Calls that have to complete before this one's turn comes, and cannot; empty if its turn has come.
  std::vector<std::uint32_t> ahead_of(std::uint32_t call) const;
  bool can_complete(std::uint32_t call) const;

 private:
  using StreamKey =
      std::pair<std::uint32_t, std::pair<std::uint8_t, std::uint64_t>>;  // process, device, handle
  // What one thread enqueued at one moment: a call, or all of a group.
  struct Group {
    std::vector<std::uint32_t> calls;
    std::vector<std::uint32_t> streams;  // each once
    std::uint32_t turns = 0;             // streams in which its turn has come
    bool complete = false;
  };
  struct Stream {
    std::vector<std::uint32_t> groups;  // in the order of enqueue
    std::uint32_t front = 0;            // the first that is not complete
  };
  // Those that issued a collective, and those of them whose turn has come.
  struct Meeting {
    std::uint32_t expected = 0, there = 0;
    bool complete = false;
  };

  void pair_messages();
  void add_process(std::uint32_t process);
  void add_group(const std::vector<std::uint32_t>& calls);
  void run();
  bool has_turn(const Group& group) const { return group.turns == group.streams.size(); }
  void give_turn(std::uint32_t stream);
  Meeting& meeting_of(std::uint32_t call);
  bool can_complete(const Group& group);
  bool call_can_complete(std::uint32_t call);

  const matching::Collectives* collectives_ = nullptr;
  const DeviceOrder* device_order_ = nullptr;
  std::map<StreamKey, std::uint32_t> stream_of_;
  std::vector<Stream> streams_;
  std::vector<Group> groups_;
  std::map<std::uint32_t, std::uint32_t> group_of_;                      // by call
  std::map<std::uint32_t, std::uint32_t> answers_;                       // by call: of those that have one
  std::map<std::pair<std::uint32_t, std::uint32_t>, Meeting> meetings_;  // by communicator and ordinal
  std::vector<std::uint32_t> messages_;
};

}  // namespace ddpscope::ordering
