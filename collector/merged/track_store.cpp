// Keeps tracks until they are numbered.
#include "collector/merged/track_store.h"

#include <algorithm>
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
  writer->finish(levels_);
  events_ += writer->events();
  closed_of_[handle] = static_cast<std::uint32_t>(closed_.size());
  closed_.push_back({writer->track(), writer->chunks(), writer->blocks(), writer->names()});
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
