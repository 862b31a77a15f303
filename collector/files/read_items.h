// What data each process read, item by item: a place in a file at which it began to read.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/model/job.h"
#include "trace/read/table.h"

namespace ddpscope::files {

struct Item {
  std::uint64_t key;             // of path and offset: equal for the same item in all processes
  std::int64_t at_ns;            // of the read; of an item without a record, when its chunk was opened
  std::int64_t until_ns;         // when its opening was last read from, or closed, before the next item of it
  std::uint64_t offset;          // in the file
  std::uint32_t path;            // the path's number, equal in all processes
  model::EventPlace place;       // of the read, or of the opening if that is all there is
  std::uint32_t exact : 1;       // it has a record: time and place are its own
  std::uint32_t bytes : 31 = 0;  // from the offset to the farthest that was read on from there, 0 unknown
};

// The items of one process, in the order in which it read them.
struct ItemStream {
  std::int32_t rank;
  std::uint32_t process;
  bool by_worker = false;
  trace::Table<Item> items = {};
  std::unordered_map<std::uint32_t, std::string_view> names = {};  // of paths by number, where known
  std::vector<std::int64_t> turns =
      {};  // when the threads that read files sent or received on a stream, ascending
};

// Streams of a rank and of the processes that work for it, in the order in which the processes started. A
// read that begins within the last one of its opening or where that ended adds no item: a file that is read
// from its start to its end is one item, however many calls it takes (a reader of headers goes back a
// little). Nor does one that begins or ends where what was read without a gap begins, or ends where that
// ends: directories of archives are looked for backwards, members are begun again once their header is known.
// Files of programs (code, libraries, packages) are left out, and what was opened for writing too.
//
// Of one rank at a time: a job's items together are as much memory as its trace.
std::vector<ItemStream> find_item_streams(const model::Job& job, std::int32_t rank);

// In the order in which their processes started.
void sort_by_start(const model::Job& job, std::vector<ItemStream>& streams);

// No file of programs.
bool is_data(std::string_view path);

// The opening that an event (a read, or an opening itself) belongs to.
model::EventRef opening_of(const model::Job& job, model::EventRef event);
// The same, or the first opening of that file in its process, which is the only one that has a stack.
model::EventRef opening_with_stack(const model::Job& job, model::EventRef opening);
std::string_view path_of(const model::Job& job, model::EventRef opening);

}  // namespace ddpscope::files
