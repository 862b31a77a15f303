// A block of collectives as bytes: what changes little from one to the next takes little.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/merged/collectives.h"
#include "collector/merged/node.h"

namespace ddpscope::merged {

// All of one communicator, with one arrival for each of its members.
void put_collectives(std::span<const Collective> block, ByteWriter& out);

// Nothing: the bytes are damaged. `first`: sequence number of the first; `members`: arrivals of each.
std::optional<std::vector<Collective>> get_collectives(std::span<const unsigned char> bytes,
                                                       std::uint64_t first, std::size_t count,
                                                       std::size_t members);

// Of one collective.
CollectiveNode node_of(const Collective& collective);
// Of up to kFanOut in a row.
CollectiveNode node_of(std::span<const CollectiveNode> children);

}  // namespace ddpscope::merged
