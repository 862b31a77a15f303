// What data each process read, item by item: a file read as a whole, or a part of it that was sought out.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::files {

struct Item {
  std::uint64_t key;   // equal for the same item, on all processes of a host
  std::int64_t at_ns;  // not earlier than this: short item records have the time of their chunk only
};

// The items of one process, in the order in which it read them; files read as a whole stand before parts of
// files.
struct ItemStream {
  std::int32_t rank;
  std::uint32_t process;
  model::EventRef first;  // the first opening
  std::string first_path;
  std::vector<Item> items;
  std::vector<std::int64_t> reads_ns;  // of the reads that the ring still has
};

// Streams of ranks and of the processes that work for them, in the order in which the processes started. A
// file read from its start to its end is one item, however many calls it takes. Files of programs (code,
// libraries, packages) are left out, and what was opened for writing too.
std::vector<ItemStream> find_item_streams(const model::Job& job);

}  // namespace ddpscope::files
