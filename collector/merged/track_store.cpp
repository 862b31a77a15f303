// Keeps tracks until they are numbered.
#include "collector/merged/track_store.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "collector/merged/track_code.h"

namespace ddpscope::merged {

std::uint32_t TrackStore::open(Track track) {
  open_.push_back(std::make_unique<TrackWriter>(*output_, *packer_, std::move(track)));
  closed_of_.push_back(kNone);
  return static_cast<std::uint32_t>(open_.size() - 1);
}

void TrackStore::close(std::uint32_t handle) {
  std::unique_ptr<TrackWriter> writer = std::move(open_[handle]);
  if (!writer || writer->events() == 0) return;
  std::vector<std::uint64_t> nodes_at;
  for (const Spool& level : levels_) nodes_at.push_back(level.bytes());
  writer->finish(levels_);
  nodes_at.resize(levels_.size());
  events_ += writer->events();
  closed_of_[handle] = static_cast<std::uint32_t>(closed_.size());
  closed_.push_back(
      {writer->track(), writer->chunks(), writer->blocks(), writer->names(), std::move(nodes_at)});
}

void TrackStore::set_severity(EventPlace place, std::uint8_t severity) {
  Closed& closed = closed_[order_[place.track]];
  closed.track.max_severity = std::max(closed.track.max_severity, severity);
  std::uint64_t node = place.index / kLeafEvents;
  for (unsigned level = 0; level < closed.track.levels; ++level, node /= kFanOut)
    levels_[level].write_at(closed.nodes_at[level] + node * sizeof(Node) + offsetof(Node, max_severity),
                            severity);
}

void TrackStore::settle() {
  order_.resize(closed_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key_of(closed_[a].track) < key_of(closed_[b].track);
  });
  numbers_.resize(closed_.size());
  for (std::uint32_t number = 0; number < order_.size(); ++number) numbers_[order_[number]] = number;
}

std::uint32_t TrackStore::number_of(std::uint32_t handle) const {
  std::uint32_t closed = handle < closed_of_.size() ? closed_of_[handle] : kNone;
  return closed == kNone ? kNone : numbers_[closed];
}

void TrackStore::put(SectionWriter& sections, const std::vector<Name>& names) {
  ByteWriter tracks;
  std::vector<BlockEntry> chunks, blocks;
  put_names(names, tracks);
  tracks.put_short(order_.size());
  for (std::uint32_t place : order_) {
    const Closed& closed = closed_[place];
    put_track({closed.track, place, closed.names}, tracks);
    chunks.insert(chunks.end(), closed.chunks.begin(), closed.chunks.end());
    blocks.insert(blocks.end(), closed.blocks.begin(), closed.blocks.end());
  }
  sections.put(SectionId::kTracks, tracks.bytes());
  sections.put_table(SectionId::kChunkIndex, chunks);
  sections.put_table(SectionId::kBlockIndex, blocks);
  put_pyramid(sections);
}

void TrackStore::put_pyramid(SectionWriter& sections) {
  sections.begin(SectionId::kPyramid);
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) sections.append(*level);
  sections.end();
}

}  // namespace ddpscope::merged
