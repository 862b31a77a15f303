// Files that many jobs share and that no reader misses.
#pragma once
#include <string_view>

namespace ddpscope::files {

// Byte code, kernel caches, /proc, /sys, devices and shared memory (design: the default ignore list); and
// what has no name.
bool is_ignored(std::string_view path);

// Ignored, and no marker that somebody could wait for either: what the kernel makes, and what has no name.
bool is_no_file(std::string_view path);

}  // namespace ddpscope::files
