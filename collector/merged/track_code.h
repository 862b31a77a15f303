// Tracks and names as bytes of the section kTracks.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/merged/rows.h"

namespace ddpscope::merged {

// A track as the section has it.
struct StoredTrack {
  Track track;
  std::uint32_t order = 0;       // its nodes stand behind those of all tracks with a lower one
  std::vector<NameCount> names;  // by their numbers on the track
};

void put_names(std::span<const Name> names, ByteWriter& out);
std::vector<Name> get_names(ByteReader& in);  // their texts stay in the section

void put_track(const StoredTrack& track, ByteWriter& out);
StoredTrack get_track(ByteReader& in);
constexpr std::size_t kLeastTrackBytes = 16;

}  // namespace ddpscope::merged
