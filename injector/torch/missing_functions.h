// Functions of the table that the loaded PyTorch does not have.
#pragma once
#include <cstdint>

namespace ddpscope::injector::torch {

// Once in a process: looks for every function of the table as the library at this address sees it, and
// records each kind of which there is none. Leaves errno.
void record_missing_functions(std::uintptr_t address);

}  // namespace ddpscope::injector::torch
