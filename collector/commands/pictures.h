// Pictures of findings, which the viewer makes.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collector/commands/command.h"
#include "collector/reports/format.h"

namespace ddpscope::commands {

std::filesystem::path viewer_program();  // beside this one; it may not have been built

// By id. Of many findings the worst have pictures; the others, and all without the viewer, have the reason.
std::map<std::string, reports::Picture> take_pictures(const TraceOptions& of,
                                                      const std::vector<findings::Finding>& findings);

}  // namespace ddpscope::commands
