// Until when anything of other processes can have come into a meeting of the graph.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

class MeetingEntries {
 public:
  explicit MeetingEntries(const Graph& graph);

  // The latest time at which a process other than `process` did what comes before the meeting; the largest
  // time there is where that is not known, the least if none of them did anything.
  std::int64_t latest_ns(Node meeting, std::uint32_t process) const;

 private:
  struct Entry {
    std::uint32_t process;
    std::int64_t ns;
  };
  // The two latest, of two processes.
  struct Entries {
    Entry latest{kNobody, kLeast}, next{kNobody, kLeast};
    bool known = false;
    void add(const Entry& entry);
  };
  using Steps = std::vector<std::pair<Node, Node>>;  // from a meeting to the next, sorted
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX;

  void follow(Node first, const Steps& steps, std::vector<std::uint32_t>& missing);

  std::vector<Entries> entries_;  // by node; only those of meetings are used
};

}  // namespace ddpscope::ordering
