// Optimizer steps, zero_grad and forwards, as PyTorch itself names them for its profiler
// (torch.profiler.record_function).
#pragma once
#include <cstdint>

namespace ddpscope::injector::torch {

// Asks PyTorch, once, to report them; `address`: code of a library that can see PyTorch's functions.
void watch_profiler_scopes(std::uintptr_t address);

// Whether this thread is inside an optimizer's step that PyTorch names.
bool is_in_named_step();

}  // namespace ddpscope::injector::torch
