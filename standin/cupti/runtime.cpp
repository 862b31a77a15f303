// Finding the runtime: never by linking, so that loading this library loads nothing else.
#include "standin/cupti/runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "standin/cupti/boundary.h"

namespace ddpscope::standin::cupti {
namespace {

constexpr const char* kLibrary = "libcudart.so.13";

void* runtime_beside_us() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&runtime_beside_us), &self) || !self.dli_fname) return nullptr;
  std::string path = self.dli_fname;
  path.replace(path.rfind('/') + 1, std::string::npos, kLibrary);
  return dlopen(path.c_str(), RTLD_LAZY);
}

const Runtime* find() {
  void* symbol = dlsym(RTLD_DEFAULT, kRuntimeSymbol);
  if (!symbol) {
    void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = runtime_beside_us();
    if (library) symbol = dlsym(library, kRuntimeSymbol);
  }
  if (!symbol) return nullptr;
  return reinterpret_cast<const Runtime* (*)()>(symbol)();
}

void say_no_runtime() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::fprintf(stderr, "standin libcupti: this process does not use the stand-in %s: nothing is recorded\n",
               kLibrary);
}

}  // namespace

const Runtime& runtime() {
  static std::atomic<const Runtime*> found{nullptr};
  const Runtime* known = found.load(std::memory_order_acquire);
  if (known) return *known;
  known = find();
  if (!known) {
    say_no_runtime();
    throw Failure{CUPTI_ERROR_NOT_INITIALIZED};
  }
  found.store(known, std::memory_order_release);
  return *known;
}

}  // namespace ddpscope::standin::cupti
