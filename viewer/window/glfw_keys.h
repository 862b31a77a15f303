// GLFW's keys, and what they print, as the app's keys: letters and signs are where the keyboard's layout has
// them, all others where they lie.
#pragma once
#include <optional>

#include "viewer/app/input.h"

namespace ddpscope::viewer {

// `printed`: what the key types alone, in UTF-8, as glfwGetKeyName tells; null: nothing.
std::optional<Key> key_of(int glfw_key, const char* printed, bool shift, bool ctrl);
// Signs whose key, and whether they take Shift, differ from layout to layout. Not for what Ctrl is held with.
std::optional<Key> key_of_typed(unsigned character);

}  // namespace ddpscope::viewer
