// Which finding explains which, so that one bug is one finding (design, section 2).
#pragma once
#include "collector/findings/finding.h"

namespace ddpscope::attribution {

// Merges findings of one bug (same slug and key), folds each finding into the one that explains it (by the
// catalogue, if the two share a rank of their places and their places overlap), lends severity, gives ids,
// and sorts: worst first, of these what ended a rank, then by time. What ended a rank is folded into no mild
// cause.
void attribute(std::vector<findings::Finding>& found);

}  // namespace ddpscope::attribution
