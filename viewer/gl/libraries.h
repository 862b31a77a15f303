// The libraries of OpenGL, which the viewer opens when it draws: it starts, and says what is missing, without
// them.
#pragma once
#include <optional>
#include <span>

#include "trace/result.h"

namespace ddpscope::viewer {

// The first that cannot be opened, with the packages that bring it.
std::optional<Error> missing_library(std::span<const char* const> names);

}  // namespace ddpscope::viewer
