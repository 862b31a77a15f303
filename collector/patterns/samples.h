// Which of the items that a process reads are samples: what is read of them is what is used of them.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/read_items.h"

namespace ddpscope::patterns {

// Leaves in `stream` what tells samples: parts of a file that are sought out in no order of their own, and
// files that are each read at once, several and mostly as many of them from one turn to the next, in another
// order than that of their names. What is gone through from front to back, be it the parts of a file or the
// files of a folder, tells nothing: healthy ranks all do so when each keeps every n-th line, record or block
// of what it reads. So it is with what a process reads of a file before it first goes back in it, 16 parts or
// more: that is an index being made, or a check of the file. A file that is read on after a turn holds
// several samples. `turns`, ascending: when the process had got a batch together, or gradients were reduced.
void keep_samples(files::ItemStream& stream, const std::vector<std::int64_t>& turns);

}  // namespace ddpscope::patterns
