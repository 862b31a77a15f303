// Every level is built at the same time: a node is closed when it has all its children.
#include "collector/merged/pyramid.h"

#include <algorithm>
#include <limits>

namespace ddpscope::merged {
namespace {

std::span<const unsigned char> bytes_of(const Node& node) {
  return {reinterpret_cast<const unsigned char*>(&node), sizeof(node)};
}

std::span<const unsigned char> bytes_of(const std::vector<Node>& nodes) {
  return {reinterpret_cast<const unsigned char*>(nodes.data()), nodes.size() * sizeof(Node)};
}

}  // namespace

std::uint64_t nodes_above(std::uint64_t leaves, unsigned level) {
  for (unsigned i = 0; i < level; ++i) leaves = parts_for(leaves, kFanOut);
  return leaves;
}

unsigned levels_above(std::uint64_t leaves) {
  if (leaves == 0) return 0;
  unsigned levels = 1;
  for (; leaves > kTopNodes; leaves = parts_for(leaves, kFanOut)) ++levels;
  return levels;
}

std::uint64_t nodes_at(std::uint64_t events, unsigned level) {
  return nodes_above(parts_for(events, kLeafEvents), level);
}

unsigned levels_of(std::uint64_t events) { return levels_above(parts_for(events, kLeafEvents)); }

void NodeBuilder::widen(std::int64_t first_ns, std::int64_t last_end_ns) {
  if (children_++ == 0) {
    node_.first_ns = first_ns;
    node_.last_end_ns = last_end_ns;
    return;
  }
  node_.last_end_ns = std::max(node_.last_end_ns, last_end_ns);
}

void NodeBuilder::add(const Event& event) {
  widen(event.begin_ns, event.end_ns);
  auto kind = static_cast<std::size_t>(event.kind) % kKinds;
  auto took = static_cast<std::uint64_t>(event.end_ns - event.begin_ns);
  node_.busy_ns += took;
  busy_[kind] += took;
  ++node_.count;
  node_.kinds = static_cast<std::uint16_t>(node_.kinds | 1u << kind);
}

void NodeBuilder::add(const Node& child) {
  widen(child.first_ns, child.last_end_ns);
  node_.busy_ns += child.busy_ns;
  busy_[child.dominant_kind % kKinds] += child.busy_ns;
  std::uint64_t count = std::uint64_t{node_.count} + child.count;
  node_.count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
  node_.kinds |= child.kinds;
}

Node NodeBuilder::take() {
  Node taken = node_;
  std::size_t dominant = kKinds;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (taken.kinds >> kind & 1 && (dominant == kKinds || busy_[kind] > busy_[dominant])) dominant = kind;
  taken.dominant_kind = static_cast<std::uint8_t>(dominant % kKinds);
  *this = {};
  return taken;
}

void PyramidBuilder::add(const Event& event) {
  leaf_.add(event);
  ++events_;
  if (leaf_.children() == kLeafEvents) close(0);
}

void PyramidBuilder::close(unsigned level) {
  Node node;
  if (level == 0) {
    node = leaf_.take();
    leaves_.append(bytes_of(node));
  } else {
    node = open_[level - 1].take();
    closed_[level - 1].push_back(node);
  }
  if (open_.size() == level) {
    open_.emplace_back();
    closed_.emplace_back();
  }
  open_[level].add(node);
  if (open_[level].children() == kFanOut) close(level + 1);
}

void PyramidBuilder::finish(std::vector<Spool>& levels, const std::filesystem::path& folder) {
  if (leaf_.children()) close(0);
  unsigned count = levels_of(events_);
  for (unsigned level = 1; level < count; ++level)
    if (open_[level - 1].children()) close(level);
  while (levels.size() < count) levels.emplace_back(folder, kLevelMemory);
  if (count) levels[0].append(leaves_);
  for (unsigned level = 1; level < count; ++level) levels[level].append(bytes_of(closed_[level - 1]));
}

}  // namespace ddpscope::merged
