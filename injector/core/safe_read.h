// Memory that may not be there.
#pragma once
#include <string.h>

#include <cstddef>
#include <cstdint>

namespace ddpscope::injector {

// Copies `bytes` (at most a page) from `address`. False: not all of it is mapped readable.
bool read_safely(std::uintptr_t address, void* out, std::size_t bytes);

// Likewise of what is known to be there, for who reads either way.
inline bool read_plainly(std::uintptr_t address, void* out, std::size_t bytes) {
  memcpy(out, reinterpret_cast<const void*>(address), bytes);
  return true;
}

}  // namespace ddpscope::injector
