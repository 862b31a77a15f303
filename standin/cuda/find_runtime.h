// For the libraries beside the runtime: where it is in this process.
#pragma once

#include <dlfcn.h>

#include "standin/cuda/beside.h"
#include "standin/cuda/runtime_table.h"

namespace ddpscope::standin {

inline constexpr const char* kRuntimeLibrary = "libcudart.so.13";  // its version node has the same name

/// The stand-in that the process uses; where no runtime is loaded, the one beside the calling library, which
/// is loaded then. Null where the process has NVIDIA's.
inline const Runtime* find_runtime() {
  void* symbol = dlsym(RTLD_DEFAULT, kRuntimeSymbol);
  if (!symbol) {
    if (void* library = find_beside_us(kRuntimeLibrary)) symbol = dlsym(library, kRuntimeSymbol);
  }
  return symbol ? reinterpret_cast<const Runtime* (*)()>(symbol)() : nullptr;
}

}  // namespace ddpscope::standin
