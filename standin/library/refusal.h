// Says once, on standard error, who asked for what a library of this folder does not provide.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>

namespace ddpscope::standin::library {

inline void say_refused(const char* library, const char* function, const char* answer,
                        std::atomic<bool>& said, const void* caller) {
  if (said.exchange(true)) return;
  Dl_info asked_by{};
  const bool known = dladdr(caller, &asked_by) != 0 && asked_by.dli_fname && *asked_by.dli_fname;
  std::fprintf(stderr, "standin %s: %s is not provided; %s asked and got %s\n", library, function,
               known ? asked_by.dli_fname : "code outside any library", answer);
}

}  // namespace ddpscope::standin::library

/// A weak function `name` of a C interface that returns `answer`, an enumerator of `status`. Whatever another
/// file defines takes its place: the calling convention lets a function ignore its arguments.
#define STANDIN_REFUSED(LIBRARY, status, answer, name)                                                   \
  extern "C" [[gnu::weak]] status name() {                                                               \
    static constinit std::atomic<bool> said{false};                                                      \
    ddpscope::standin::library::say_refused(LIBRARY, #name, #answer, said, __builtin_return_address(0)); \
    return answer;                                                                                       \
  }
