// Builds the nodes of a track as its events come, 2.29 bytes an event in all.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "collector/merged/event.h"
#include "collector/merged/node.h"
#include "collector/merged/output.h"

namespace ddpscope::merged {

constexpr std::size_t kLevelMemory = 8 << 20;  // bytes of a level above the first before they go to a file

// That hold `count` when each but the last holds `by`.
constexpr std::uint64_t parts_for(std::uint64_t count, std::uint64_t by) {
  return count / by + (count % by != 0);
}

// Nodes of `level` above `events` events; levels of a track: 1 + those above the first with more than
// kTopNodes nodes. Both pure arithmetic: nothing of it is stored.
std::uint64_t nodes_at(std::uint64_t events, unsigned level);
unsigned levels_of(std::uint64_t events);

// The same for what stands one a node at level 0, as collectives do.
std::uint64_t nodes_above(std::uint64_t leaves, unsigned level);
unsigned levels_above(std::uint64_t leaves);

// Of nodes side by side. What took most of the time is known of each kind while a node is built, and is what
// its children say once they are closed.
class NodeBuilder {
 public:
  void add(const Event& event);
  void add(const Node& child);
  std::uint32_t children() const { return children_; }
  std::uint32_t count() const { return node_.count; }
  Node take();  // and begins anew

 private:
  void widen(std::int64_t first_ns, std::int64_t last_end_ns);

  Node node_{};
  std::array<std::uint64_t, kKinds> busy_{};
  std::uint32_t children_ = 0;
};

class PyramidBuilder {
 public:
  explicit PyramidBuilder(const std::filesystem::path& folder) : leaves_(folder, kLeafMemory) {}

  void add(const Event& event);
  std::uint64_t events() const { return events_; }
  // Closes what is open and appends level k to levels[k], which grows as needed.
  void finish(std::vector<Spool>& levels, const std::filesystem::path& folder);

 private:
  static constexpr std::size_t kLeafMemory = 1 << 20;

  void close(unsigned level);  // the open node of it

  std::uint64_t events_ = 0;
  NodeBuilder leaf_;
  Spool leaves_;                           // level 0
  std::vector<NodeBuilder> open_;          // of level k + 1
  std::vector<std::vector<Node>> closed_;  // likewise
};

}  // namespace ddpscope::merged
