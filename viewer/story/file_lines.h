// Which ranks did what with the file that a finding is about.
#pragma once
#include "viewer/story/story.h"

namespace ddpscope::viewer {

// Lines, focus and the discs on them. Of several copies, a file of each rank, each rank's own. Reads: may
// wait for the disk.
void tell_file_lines(const merged::Reader& reader, const findings::Finding& finding, Story& story);

}  // namespace ddpscope::viewer
