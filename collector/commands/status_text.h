// A look at a job in words: one line that says it all, then the stalls, then every rank.
#pragma once
#include <string>

#include "collector/live/look.h"

namespace ddpscope::commands {

std::string headline(const live::Look& look);
std::string status_text(const live::Look& look);  // ends with a line break
// Without what changes from moment to moment: equal as long as nothing happens.
std::string gist(const live::Look& look);

}  // namespace ddpscope::commands
