// A chunk of folded calls as the records that they stand for.
#pragma once
#include <span>
#include <vector>

#include "trace/format.h"

namespace ddpscope::trace {

struct UnfoldedCalls {
  std::vector<Record> records;  // in the order in which they were begun, the open one last
  bool sound = true;            // false: a word names a signature that is not there; what follows it is lost
};

// `chunk`: a kFolded chunk from its header to its end; cut off, it has lost its signatures.
UnfoldedCalls unfold(std::span<const unsigned char> chunk);

}  // namespace ddpscope::trace
