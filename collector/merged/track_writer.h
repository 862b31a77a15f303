// Writes one track as its events come: chunks of packed events, blocks of what else is kept of them, and the
// pyramid. Memory: a quarter of a megabyte, and 0.29 bytes an event.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/merged/event.h"
#include "collector/merged/format.h"
#include "collector/merged/leaf_code.h"
#include "collector/merged/output.h"
#include "collector/merged/packing.h"
#include "collector/merged/pyramid.h"

namespace ddpscope::merged {

using Slot = std::span<const unsigned char, kSlotBytes>;

template <class Kept>
Slot slot_of(const Kept& kept) {
  static_assert(sizeof(Kept) == kSlotBytes);
  return Slot(reinterpret_cast<const unsigned char*>(&kept), kSlotBytes);
}

class TrackWriter {
 public:
  TrackWriter(Output& output, Packer& packer, Track track);

  // In order of time. One that would overlap the one before is cut.
  void add(Event event, Slot slot);
  std::uint64_t events() const { return pyramid_.events(); }
  std::int64_t last_end_ns() const { return last_end_ns_; }

  // Writes what is left; nothing may be added after it.
  void finish(std::vector<Spool>& levels);
  const Track& track() const { return track_; }
  const std::vector<BlockEntry>& chunks() const { return chunks_; }
  const std::vector<BlockEntry>& blocks() const { return blocks_; }
  const std::vector<NameCount>& names() const { return names_; }  // by their numbers on the track

 private:
  std::uint32_t number_of(std::uint32_t name);
  void close_leaf();
  void close_chunk();
  void close_block();

  Output& output_;
  Packer& packer_;
  Track track_;
  PyramidBuilder pyramid_;
  std::vector<PackedEvent> leaf_;
  std::vector<std::uint16_t> starts_;  // of the chunk's leaves, in units of 2 bytes
  std::vector<unsigned char> packed_;  // the chunk's leaves
  std::uint32_t chunk_events_ = 0;
  std::vector<unsigned char> slots_;
  std::vector<BlockEntry> chunks_, blocks_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // of names
  std::vector<NameCount> names_;
  std::uint32_t latest_name_ = kNone, latest_number_ = 0;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace ddpscope::merged
