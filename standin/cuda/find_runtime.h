// For the libraries beside the runtime: where it is in this process.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>

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

/// The same, remembered. Where there is none, it says once that `library` finds none, and what that means; it
/// is asked for anew the next time.
inline const Runtime* find_runtime_for(const char* library, const char* consequence) {
  static std::atomic<const Runtime*> found{nullptr};
  if (const Runtime* known = found.load(std::memory_order_acquire)) return known;
  const Runtime* now = find_runtime();
  static std::atomic<bool> said{false};
  if (!now && !said.exchange(true))
    std::fprintf(stderr, "standin %s: this process does not use the stand-in %s: %s\n", library,
                 kRuntimeLibrary, consequence);
  if (now) found.store(now, std::memory_order_release);
  return now;
}

}  // namespace ddpscope::standin
