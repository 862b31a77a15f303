// Finds real functions: at load for libc, at the first call for the vendors' libraries.
#include "injector/core/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "injector/core/process.h"

namespace ddpscope::injector {

void* real_functions[trace::kCallNumbers];

namespace {

constexpr const char* kVendorLibraries[] = {"libnccl.so.2", "libcudart.so.13", "libcudart.so.12"};

void* find_in(void* library, const char* symbol) {
  void* found = library ? dlsym(library, symbol) : nullptr;
  if (library) dlclose(library);
  return found;
}

void* find_in_object_of(const void* address, const char* symbol) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return nullptr;
  return find_in(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD), symbol);
}

void* find(const char* symbol, const void* return_address, const void* ours) {
  void* found = dlsym(RTLD_NEXT, symbol);
  for (const char* library : kVendorLibraries) {
    if (found && found != ours) return found;
    found = find_in(dlopen(library, RTLD_LAZY | RTLD_NOLOAD), symbol);
  }
  if (!found || found == ours) found = find_in_object_of(return_address, symbol);
  return found == ours ? nullptr : found;
}

}  // namespace

bool find_real_symbol(void** function, const char* symbol, const void* return_address) {
  int saved = errno;
  void* found = find(symbol, return_address, dlsym(RTLD_DEFAULT, symbol));
  errno = saved;
  if (found) __atomic_store_n(function, found, __ATOMIC_RELAXED);
  if (!found)
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::unresolved_calls);
  return found;
}

void* resolve(trace::Call call, const void* return_address) {
  const trace::CallInfo* info = trace::find_call(static_cast<std::uint16_t>(call));
  void** place = &real_functions[static_cast<int>(call)];
  return info && find_real_symbol(place, info->symbol, return_address) ? *place : nullptr;
}

}  // namespace ddpscope::injector
