// Collectives that a process captured into graphs, and the launches that run them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "collector/matching/call_table.h"
#include "collector/model/job.h"

namespace ddpscope::matching {

// Of one process. What becomes of a capture is known by the graph that its end made, and that graph by what
// makes it ready to be launched. A graph that is put together by hand, or copied, is not known.
class CapturedCalls {
 public:
  explicit CapturedCalls(const trace::TraceFile& file);

  bool any() const { return !capture_of_.empty(); }
  // Of the communicator's call of this number: it does not run where it is called.
  std::optional<std::uint64_t> capture_of(std::uint32_t communicator, std::uint32_t sequence) const;

  // In the order of time.
  void add(std::uint64_t capture, const CollectiveCall& call) { calls_[capture].push_back(call); }
  void take(const trace::Record& record);  // kCallCaptured, kCapture, kGraphMade

  // What a launch of the process runs now. Nothing: that is not known. Empty, too, where the launch is
  // captured itself.
  std::optional<std::vector<CollectiveCall>> launched(const trace::Record& record);

  // So far, those that were captured into graphs which the program had already, and has not made ready:
  // bodies of conditional nodes. How often they run is decided on the device.
  std::vector<CollectiveCall> in_bodies() const;

 private:
  using Calls = std::vector<CollectiveCall>;

  void end_capture(const trace::Record& record);

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> capture_of_;  // communicator, sequence
  std::map<std::uint64_t, Calls> calls_;                                         // by capture
  std::map<std::uint64_t, Calls> graphs_, executables_, bodies_;                 // by handle
  std::set<std::uint64_t> capture_to_graph_;                                     // streams
  std::map<std::uint16_t, std::uint64_t> next_launch_;  // by thread: the capture into which it goes
};

}  // namespace ddpscope::matching
