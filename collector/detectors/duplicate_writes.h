// What several ranks wrote though one would have been enough.
#pragma once
#include <vector>

#include "collector/detectors/write_order.h"
#include "collector/files/written_files.h"

namespace ddpscope::detectors {

struct Duplicate {
  std::vector<const files::WrittenFile*> writers;  // of two or more ranks, by begin
  bool same_file;                                  // else: the same content under several names
  WriteOrder order;  // the worst among those that collide; of several names: kOrdered, they do not
  // Up to 16 KiB of text, by the name's suffix, that each writes whole and alike before it trains.
  bool settings = false;
  // Each replaces what the other wrote by something else, unless what was not recorded orders them: perhaps
  // in turn.
  bool doubtful = false;
};

// Rule W1: one file (by name, or by inode while both have it open), at least 4 KiB, or less if both truncate
// it and nothing orders them; the byte ranges overlap, or both truncate. Ranks that take turns count only if
// they write the same content in the same save. Rule W2: one content under several names in the same save, on
// storage that the ranks share, by digests: at least 256 KiB, of which 95 % match in order.
std::vector<Duplicate> find_duplicate_writes(const WriteOrders& orders,
                                             const std::vector<files::WrittenFile>& written);

}  // namespace ddpscope::detectors
