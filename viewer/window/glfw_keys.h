// GLFW's key numbers as the app's keys.
#pragma once
#include <optional>

#include "viewer/app/input.h"

namespace ddpscope::viewer {

std::optional<Key> key_of(int glfw_key, bool shift);

}  // namespace ddpscope::viewer
