// Which samples ranks read, where no copies to devices tell batches.
#pragma once
#include "viewer/story/story.h"

namespace ddpscope::viewer {

// A line for each rank of the evidence, the first kMostBatchLines in its order: the sample that the evidence
// is about and some that the same process read before and after it. Samples of one place stand below each
// other, evenly over the focus: ranks read them a moment apart, and between two batches nothing for long.
// Nothing where the evidence names no reads. Reads: may wait for the disk.
void tell_samples(const merged::Reader& reader, Story& story);

}  // namespace ddpscope::viewer
