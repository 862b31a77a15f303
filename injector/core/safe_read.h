// Memory that may not be there.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::injector {

// Copies `bytes` (at most a page) from `address`. False: not all of it is mapped readable.
bool read_safely(std::uintptr_t address, void* out, std::size_t bytes);

}  // namespace ddpscope::injector
