// Bytes of one direction of a stream, and which call moved which.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/ordering/stream_ends.h"

namespace ddpscope::ordering {

// Bytes of a direction of a stream, counted over all processes that share the end.
struct Piece {
  const Transfer* transfer;
  std::uint64_t first, end;
};

struct Line {
  std::vector<Piece> pieces;
  bool sure = true;  // false: calls are missing, and more than one process counts
};

// One process's own count tells where the bytes of its calls lie, also when some calls are missing. Those of
// several processes are added up in time order. `transfers` stay where they are as long as the line is used.
Line line_of(const std::vector<Transfer>& transfers);

}  // namespace ddpscope::ordering
