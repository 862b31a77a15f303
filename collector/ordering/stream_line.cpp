// Adds up what each process of an end counted.
#include "collector/ordering/stream_line.h"

#include <algorithm>
#include <map>

namespace ddpscope::ordering {

Line line_of(const std::vector<Transfer>& transfers) {
  Line line;
  std::map<std::uint32_t, std::uint64_t> counted;  // by process
  for (const Transfer& transfer : transfers) counted.emplace(transfer.call.thread.process, 0);
  std::uint64_t total = 0;
  for (const Transfer& transfer : transfers) {
    std::uint64_t& own = counted[transfer.call.thread.process];
    if (counted.size() == 1)
      total = std::max(total, transfer.own_offset);
    else if (transfer.own_offset > own)
      line.sure = false;
    own = std::max(own, transfer.own_offset) + transfer.bytes;
    line.pieces.push_back({&transfer, total, total + transfer.bytes});
    total += transfer.bytes;
  }
  return line;
}

}  // namespace ddpscope::ordering
