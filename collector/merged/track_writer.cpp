// Leaves go into a chunk, chunks and blocks into the file, in the order in which they are full.
#include "collector/merged/track_writer.h"

#include <algorithm>

namespace ddpscope::merged {

TrackWriter::TrackWriter(Output& output, Packer& packer, Track track)
    : output_(output), packer_(packer), track_(std::move(track)), pyramid_(output.folder()) {
  leaf_.reserve(kLeafEvents);
}

std::uint32_t TrackWriter::number_of(std::uint32_t name) {
  if (name == latest_name_) return latest_number_;
  auto [known, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back({name, 0});
  latest_name_ = name;
  latest_number_ = known->second;
  return latest_number_;
}

void TrackWriter::add(Event event, Slot slot) {
  if (events() == 0) track_.first_ns = event.begin_ns;
  event.begin_ns = std::max(event.begin_ns, events() ? last_end_ns_ : event.begin_ns);
  event.end_ns = std::max(event.end_ns, event.begin_ns);
  std::uint32_t number = number_of(event.name);
  ++names_[number].count;
  std::int64_t gap_ns = leaf_.empty() ? 0 : event.begin_ns - last_end_ns_;
  leaf_.push_back({static_cast<std::uint64_t>(gap_ns),
                   static_cast<std::uint64_t>(event.end_ns - event.begin_ns), number});
  last_end_ns_ = event.end_ns;
  track_.last_is_open = event.open;
  pyramid_.add(event);
  slots_.insert(slots_.end(), slot.begin(), slot.end());
  if (leaf_.size() == kLeafEvents) close_leaf();
  if (chunk_events_ == kChunkEvents) close_chunk();
  if (slots_.size() == kBlockEvents * kSlotBytes) close_block();
}

void TrackWriter::close_leaf() {
  starts_.push_back(static_cast<std::uint16_t>(packed_.size() / 2));
  pack_leaf(leaf_, packed_);
  if (packed_.size() % 2) packed_.push_back(0);
  chunk_events_ += static_cast<std::uint32_t>(leaf_.size());
  leaf_.clear();
}

void TrackWriter::close_chunk() {
  std::size_t directory = starts_.size() * sizeof(std::uint16_t);
  chunks_.push_back(
      {output_.offset(), static_cast<std::uint32_t>(directory + packed_.size()), chunk_events_});
  output_.append({reinterpret_cast<const unsigned char*>(starts_.data()), directory});
  output_.append(packed_);
  starts_.clear();
  packed_.clear();
  chunk_events_ = 0;
}

void TrackWriter::close_block() {
  std::span<const unsigned char> packed = packer_.pack_slots(slots_);
  blocks_.push_back({output_.offset(), static_cast<std::uint32_t>(packed.size()),
                     static_cast<std::uint32_t>(slots_.size())});
  output_.append(packed);
  slots_.clear();
}

void TrackWriter::finish(std::vector<Spool>& levels) {
  if (!leaf_.empty()) close_leaf();
  if (chunk_events_) close_chunk();
  if (!slots_.empty()) close_block();
  pyramid_.finish(levels, output_.folder());
  track_.events = events();
  track_.levels = static_cast<std::uint16_t>(levels_of(events()));
  track_.last_end_ns = last_end_ns_;
}

}  // namespace ddpscope::merged
