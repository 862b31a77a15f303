// For the libraries beside the runtime: where it is in this process.
#pragma once

#include <dlfcn.h>

#include <string>

#include "standin/cuda/runtime_table.h"

namespace ddpscope::standin {

inline constexpr const char* kRuntimeLibrary = "libcudart.so.13";  // its version node has the same name

namespace detail {

inline void* load_runtime_beside_us() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&load_runtime_beside_us), &self) || !self.dli_fname) return nullptr;
  std::string path = self.dli_fname;
  path.replace(path.rfind('/') + 1, std::string::npos, kRuntimeLibrary);
  return dlopen(path.c_str(), RTLD_LAZY);
}

}  // namespace detail

/// The stand-in that the process uses; where no runtime is loaded, the one beside the calling library, which
/// is loaded then. Null where the process has NVIDIA's.
inline const Runtime* find_runtime() {
  void* symbol = dlsym(RTLD_DEFAULT, kRuntimeSymbol);
  if (!symbol) {
    void* library = dlopen(kRuntimeLibrary, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = detail::load_runtime_beside_us();
    if (library) symbol = dlsym(library, kRuntimeSymbol);
  }
  return symbol ? reinterpret_cast<const Runtime* (*)()>(symbol)() : nullptr;
}

}  // namespace ddpscope::standin
