// Files of /proc, read by raw system calls: no hook of ours sees them, and nothing is allocated.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::injector {

// Calls `take` with each line, without what ends it, until it returns false. A line beyond 60 KiB is cut up.
void for_each_line(const char* path, bool (*take)(const char* line, std::size_t bytes, void* argument),
                   void* argument, char ends_with = '\n');

// The hexadecimal number that the text starts with, without 0x.
std::uint64_t parse_hex(const char* text, const char* end);

}  // namespace ddpscope::injector
