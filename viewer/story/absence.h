// Findings about what is not there: no call shows it, so the lanes say where it should be.
#pragma once
#include <optional>
#include <string>

#include "collector/findings/finding.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {

struct StoryAbsence {
  std::string title, which;  // "gradient syncs", "of 24 optimizer updates"
  std::string words;         // in the hole
  TimeSpan span;
  TimeSpan focus;
};

// Of missing-gradient-sync and no-process-group; nothing for others.
std::optional<StoryAbsence> absence_of(const findings::Finding& finding);

}  // namespace ddpscope::viewer
