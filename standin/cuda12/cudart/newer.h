// For functions of libcudart.so.12 that are no jumps: how they are defined, and how they call
// libcudart.so.13. Both have the names of CUDA's functions, so neither is linked by its name.
#pragma once

#include <cuda_runtime_api.h>

extern "C" void (*const standin_cudart_functions[])();

namespace ddpscope::standin {

enum Slot {
#define EXPORTED(function) kSlotOf_##function,
#include "exported.def"
#undef EXPORTED
};

}  // namespace ddpscope::standin

/// The function of that name in libcudart.so.13, of the type that `declared` has in CUDA 13's header.
#define NEWER_LIKE(declared, function) \
  reinterpret_cast<decltype(&declared)>(standin_cudart_functions[ddpscope::standin::kSlotOf_##function])
#define NEWER(function) NEWER_LIKE(function, function)

/// Defines a function of libcudart.so.12: OLDER(cudaFree, (void* pointer)) { ... }
#define OLDER(function, parameters)                                   \
  extern "C" cudaError_t cuda12_##function parameters asm(#function); \
  extern "C" cudaError_t cuda12_##function parameters
