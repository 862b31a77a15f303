// The events of one leaf, packed: for each the gap since the one before, its duration and its name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collector/merged/node.h"

namespace ddpscope::merged {

struct PackedEvent {
  std::uint64_t gap_ns;       // from the end of the one before; of the first of a leaf 0
  std::uint64_t duration_ns;  // both below 2^63
  std::uint64_t name;         // number on the track
};

constexpr std::size_t kLeastLeafBytes = 6;

// Appends 1 ... kLeafEvents events.
void pack_leaf(std::span<const PackedEvent> events, std::vector<unsigned char>& out);

// False if the bytes do not hold `out.size()` events: they are damaged, `out` is then zeros.
bool unpack_leaf(std::span<const unsigned char> bytes, std::span<PackedEvent> out);

}  // namespace ddpscope::merged
