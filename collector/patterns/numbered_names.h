// Names of files that differ in a number only, where each rank uses one of them: "state_00002.json".
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/files/written_files.h"

namespace ddpscope::patterns {

struct NumberedUse {
  std::int32_t rank;
  std::int32_t number;
  model::EventRef open;
  std::int64_t begin_ns, end_ns;
  const files::WrittenFile* file;  // null if it is read
};

std::string_view path_of(const model::Job& job, const NumberedUse& use);

struct NumberedNames {
  bool written;                   // else: read
  std::vector<NumberedUse> uses;  // one a rank, by rank
};

// All such names, on storage that the ranks share, in which the job's first rank has the number 0 or 1 and no
// other rank has the same; at least six ranks. Whatever stands in the name beside the number is equal. Names
// of program files are left out. They refer to `written`.
std::vector<NumberedNames> find_numbered_names(const model::Job& job,
                                               const std::vector<files::WrittenFile>& written);

// Ranks dealt out to blocks: within one the number rises by one from rank to rank; how far it rises from
// block to block is the stride. A healthy one is as long as a block (each rank has a number of its own) or 0
// (each block counts anew: by local rank, by shard, round-robin). With one in between, ranks of neighbouring
// blocks share numbers, others of which nobody has: what is multiplied by the number of the block is not the
// size of a block.
struct BlockNumbering {
  std::size_t blocks, block;  // how many, and ranks of each; 0: the numbers have no such order
  std::int32_t stride;

  bool collides() const { return blocks > 1 && stride > 0 && static_cast<std::size_t>(stride) < block; }
  bool operator==(const BlockNumbering&) const = default;
};

// Of ranks that are evenly spaced, at least three a block.
BlockNumbering find_blocks(const std::vector<NumberedUse>& uses);

}  // namespace ddpscope::patterns
