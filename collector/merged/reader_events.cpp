// Nodes and events of tracks, looked at where they are mapped.
#include <algorithm>
#include <cstring>

#include "collector/merged/find_text.h"
#include "collector/merged/leaf_code.h"
#include "collector/merged/pyramid.h"
#include "collector/merged/reader.h"
#include "collector/merged/reader_state.h"
#include "collector/model/job.h"

namespace ddpscope::merged {
namespace {

constexpr std::uint64_t kChunkLeaves = kChunkEvents / kLeafEvents;

std::int64_t later(std::int64_t ns, std::uint64_t by) {
  auto room = static_cast<std::uint64_t>(model::kTimeLimit - ns);
  return by > room ? model::kTimeLimit : ns + static_cast<std::int64_t>(by);
}

// What of a chunk is leaf number `leaf` of `leaves`; empty if the chunk is damaged.
std::span<const unsigned char> leaf_bytes(std::span<const unsigned char> chunk, std::uint64_t leaf,
                                          std::uint64_t leaves) {
  std::size_t directory = leaves * sizeof(std::uint16_t);
  if (chunk.size() < directory) return {};
  auto start = [&](std::uint64_t number) {
    std::uint16_t units;
    std::memcpy(&units, chunk.data() + number * sizeof(units), sizeof(units));
    return std::size_t{units} * 2;
  };
  std::span<const unsigned char> packed = chunk.subspan(directory);
  std::size_t begin = start(leaf), end = leaf + 1 < leaves ? start(leaf + 1) : packed.size();
  if (begin > end || end > packed.size()) return {};
  return packed.subspan(begin, end - begin);
}

}  // namespace

std::uint64_t Reader::State::leaves(std::uint32_t track) const { return nodes_at(tracks[track].events, 0); }

std::span<const Node> Reader::State::nodes(std::uint32_t track, unsigned level) const {
  if (track >= tracks.size() || level >= tracks[track].levels) return {};
  return pyramid.subspan(extents[track].first_node[level], nodes_at(tracks[track].events, level));
}

std::span<const unsigned char> Reader::State::chunk(std::uint32_t track, std::uint64_t leaf) const {
  const BlockEntry& entry = chunks[extents[track].first_chunk + leaf / kChunkLeaves];
  return sections->data(entry.offset, entry.packed_bytes);
}

std::uint64_t Reader::nodes(std::uint32_t track, unsigned level) const {
  return state_->nodes(track, level).size();
}

std::span<const Node> Reader::level(std::uint32_t track, unsigned level) const {
  return state_->nodes(track, level);
}

bool Reader::nodes_ready(std::uint32_t track, unsigned level, std::uint64_t first, std::uint64_t end) const {
  std::span<const Node> nodes = state_->nodes(track, level);
  end = std::min<std::uint64_t>(end, nodes.size());
  return first >= end || state_->residency->holds(nodes.data() + first, (end - first) * sizeof(Node));
}

void Reader::want_nodes(std::uint32_t track, unsigned level, std::uint64_t first, std::uint64_t end) const {
  std::span<const Node> nodes = state_->nodes(track, level);
  end = std::min<std::uint64_t>(end, nodes.size());
  if (first < end) state_->residency->want(nodes.data() + first, (end - first) * sizeof(Node));
}

std::size_t Reader::leaf(std::uint32_t track, std::uint64_t leaf, std::span<Event, kLeafEvents> out) const {
  State& state = *state_;
  if (track >= state.tracks.size() || leaf >= state.leaves(track)) return 0;
  const Track& row = state.tracks[track];
  std::uint64_t first = leaf * kLeafEvents;
  auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kLeafEvents, row.events - first));
  std::uint64_t in_chunk = leaf % kChunkLeaves;
  std::uint64_t leaves = std::min(kChunkLeaves, state.leaves(track) - (leaf - in_chunk));
  PackedEvent packed[kLeafEvents];
  unpack_leaf(leaf_bytes(state.chunk(track, leaf), in_chunk, leaves), std::span(packed).first(count));
  std::int64_t at = std::clamp<std::int64_t>(state.nodes(track, 0)[leaf].first_ns, 0, model::kTimeLimit);
  const Extents& extent = state.extents[track];
  for (std::size_t i = 0; i < count; ++i) {
    Event& event = out[i];
    event = {};
    event.begin_ns = later(at, packed[i].gap_ns);
    event.end_ns = at = later(event.begin_ns, packed[i].duration_ns);
    event.name =
        state.name_of_number[extent.first_name + std::min<std::uint64_t>(packed[i].name, extent.names - 1)];
    event.kind = state.names[event.name].kind;
  }
  if (first + count == row.events) out[count - 1].open = row.last_is_open;
  if (row.max_severity == kNoSeverity) return count;
  std::span<const Mark> marks = marks_of(track);
  auto mark = std::partition_point(marks.begin(), marks.end(),
                                   [&](const Mark& each) { return each.event.index < first; });
  for (; mark != marks.end() && mark->event.index < first + count; ++mark) {
    Event& event = out[mark->event.index - first];
    event.severity = std::max(event.severity, mark->severity);
  }
  return count;
}

bool Reader::leaves_ready(std::uint32_t track, std::uint64_t first, std::uint64_t end) const {
  if (track >= state_->tracks.size()) return true;
  end = std::min(end, state_->leaves(track));
  if (!nodes_ready(track, 0, first, end)) return false;
  for (std::uint64_t leaf = first; leaf < end; leaf += kChunkLeaves - leaf % kChunkLeaves) {
    std::span<const unsigned char> chunk = state_->chunk(track, leaf);
    if (!state_->residency->holds(chunk.data(), chunk.size())) return false;
  }
  return true;
}

void Reader::want_leaves(std::uint32_t track, std::uint64_t first, std::uint64_t end) const {
  if (track >= state_->tracks.size()) return;
  end = std::min(end, state_->leaves(track));
  want_nodes(track, 0, first, end);
  for (std::uint64_t leaf = first; leaf < end; leaf += kChunkLeaves - leaf % kChunkLeaves) {
    std::span<const unsigned char> chunk = state_->chunk(track, leaf);
    state_->residency->want(chunk.data(), chunk.size());
  }
}

Event Reader::event(EventPlace place) const {
  if (!state_->is_event(place)) return {};
  std::array<Event, kLeafEvents> events;
  std::size_t count = leaf(place.track, place.index / kLeafEvents, events);
  std::size_t at = place.index % kLeafEvents;
  return at < count ? events[at] : Event{};
}

std::uint64_t Reader::first_ending_after(std::uint32_t track, std::int64_t t_ns) const {
  if (track >= state_->tracks.size()) return 0;
  const Track& row = state_->tracks[track];
  if (row.levels == 0) return row.events;
  std::uint64_t first = 0, end = nodes(track, row.levels - 1u);
  std::uint64_t found = 0;
  for (unsigned level = row.levels; level-- > 0;) {
    std::span<const Node> nodes = state_->nodes(track, level);
    end = std::min<std::uint64_t>(end, nodes.size());
    auto at = std::partition_point(nodes.begin() + static_cast<std::ptrdiff_t>(first),
                                   nodes.begin() + static_cast<std::ptrdiff_t>(end),
                                   [&](const Node& node) { return node.last_end_ns <= t_ns; });
    found = static_cast<std::uint64_t>(at - nodes.begin());
    if (found == end) return row.events;  // of a sound file only at the coarsest level
    first = found * kFanOut;
    end = first + kFanOut;
  }
  std::array<Event, kLeafEvents> events;
  std::size_t count = leaf(track, found, events);
  for (std::size_t i = 0; i < count; ++i)
    if (events[i].end_ns > t_ns) return found * kLeafEvents + i;
  return found * kLeafEvents + count;
}

std::span<const NameCount> Reader::names_on(std::uint32_t track) const {
  if (track >= state_->tracks.size()) return {};
  return std::span(state_->name_counts)
      .subspan(state_->extents[track].first_name, state_->extents[track].names);
}

std::vector<std::uint32_t> Reader::find_names(std::string_view part) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < state_->names.size(); ++i)
    if (contains_typed(state_->names[i].text, part)) found.push_back(i);
  return found;
}

void Reader::for_each_named(std::uint32_t track, const std::vector<bool>& names,
                            const std::function<bool(std::uint64_t, const Event&)>& visit) const {
  std::span<const NameCount> here = names_on(track);
  auto wanted = [&](std::uint32_t name) { return name < names.size() && names[name]; };
  if (std::none_of(here.begin(), here.end(), [&](const NameCount& name) { return wanted(name.name); }))
    return;
  std::array<Event, kLeafEvents> events;
  for (std::uint64_t leaf = 0; leaf < state_->leaves(track); ++leaf) {
    std::size_t count = this->leaf(track, leaf, events);
    for (std::size_t i = 0; i < count; ++i)
      if (wanted(events[i].name) && !visit(leaf * kLeafEvents + i, events[i])) return;
  }
}

}  // namespace ddpscope::merged
