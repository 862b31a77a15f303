// A line of /proc/self/maps: "START-END PERMISSIONS OFFSET DEVICE INODE   PATH" (proc(5)).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ddpscope::injector {

struct Mapping {
  std::uintptr_t start, end;
  std::uint64_t offset, device, inode;  // in the file; 0 of memory of no file
  std::string_view path;                // as the line has it: also "[vdso]" and the like; empty for none
};

Mapping parse_mapping(const char* line, std::size_t bytes);

}  // namespace ddpscope::injector
