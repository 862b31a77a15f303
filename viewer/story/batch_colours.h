// Which colour a batch's chip has: equal ones are equal batches, among all that are in view.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "viewer/story/story.h"

namespace ddpscope::viewer {

// Numbers contents by when they first appear on any line.
void number_contents(std::vector<FileLine>& lines);

// Colours 0 ... colours - 1 by content, of those in `shown`. A content keeps its own wherever one looks,
// unless another in view has it. Of more than there are colours the last have none.
std::map<std::uint32_t, std::size_t> colours_of_batches(const std::vector<FileLine>& lines, TimeSpan shown,
                                                        std::size_t colours);

}  // namespace ddpscope::viewer
