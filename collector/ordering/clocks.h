// What each node of the graph comes after: for every judged thread the latest moment of its program order.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/ordering/clock_pool.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// Vector clocks with one component a judged thread. A clock is immutable and shared by all nodes that know
// the same; it is made anew only where something is learned.
class Clocks {
 public:
  // Follows edges of `trust` and more trusted ones. The graph is finished and lives on.
  Clocks(const Graph& graph, const std::vector<ThreadId>& judged, Trust trust);

  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

  // Up to which moment (ns) what `of` did comes before what `thread` does from `from_ns` on. Both are judged.
  std::int64_t known(ThreadId of, ThreadId thread, std::int64_t from_ns) const;

  // Nodes that come after themselves, by edges that contradict each other: what passes through one was
  // followed in part only.
  bool contradictory() const { return contradictory_; }

 private:
  class Draft;

  void link(Trust trust);
  void run();
  void settle(Node node);
  std::vector<Node> find_left();
  std::size_t component(Node node) const;
  void leave(Node node);
  void forget(Node node);
  template <class Visit>
  void each_before(Node node, Visit visit) const;
  template <class Visit>
  void each_after(Node node, Visit visit) const;

  static constexpr std::size_t kNoComponent = std::numeric_limits<std::size_t>::max();
  static constexpr std::uint32_t kDone = std::numeric_limits<std::uint32_t>::max();

  const Graph& graph_;
  std::vector<std::size_t> components_;  // by thread number of the graph
  ClockPool pool_{0};                    // of values in ns, by component
  trace::Table<ClockId> clocks_;         // by node; kNoClock: knows nothing, or dropped as nobody will ask
  trace::Table<Node> previous_, next_;   // in program order
  trace::Table<std::uint32_t> first_in_, first_out_;
  trace::Table<Node> in_, out_;
  trace::Table<std::uint32_t> waiting_, readers_;
  bool contradictory_ = false;
};

}  // namespace ddpscope::ordering
