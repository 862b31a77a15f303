// A rank's input batches, pass by pass over its samples.
#pragma once
#include <vector>

#include "viewer/story/story.h"

namespace ddpscope::viewer {

// A line for each of the first passes (kMostPasses), `does` its name. A later pass is put at the times of the
// first: batches of one place stand below each other. Nothing where the batches do not come back in their
// order.
std::vector<FileLine> passes_of(const FileLine& inputs);
constexpr std::size_t kMostPasses = 3;

}  // namespace ddpscope::viewer
