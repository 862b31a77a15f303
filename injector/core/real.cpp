// Finds the vendors' functions at the first call of each.
#include "injector/core/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "injector/core/own_code.h"
#include "injector/core/process.h"

namespace ddpscope::injector {

void* real_functions[trace::kCallNumbers];

namespace {

constexpr const char* kVendorLibraries[] = {"libnccl.so.2", "libcudart.so.13", "libcudart.so.12",
                                            "libcupti.so.13", "libcupti.so.12"};

// RTLD_NOLOAD: what the guest has not loaded stays unloaded.
void* find_in(const char* library, const char* symbol) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* found = handle ? real_dlsym(handle, symbol) : nullptr;
  if (handle) dlclose(handle);
  return found && is_own_code(reinterpret_cast<std::uintptr_t>(found)) ? nullptr : found;
}

// Two layouts of condition variables: by name alone the one of before glibc 2.3.2 is found, and its functions
// on today's objects never return. clockwait is younger: to ask for its old version would fail, and allocate.
bool has_two_layouts(const char* symbol) {
  return strncmp(symbol, "pthread_cond_", 13) == 0 && strcmp(symbol, "pthread_cond_clockwait") != 0;
}

void* find(const char* symbol, const void* caller) {
  if (void* next = find_next(symbol)) return next;
  for (const char* library : kVendorLibraries)
    if (void* found = find_in(library, symbol)) return found;
  Dl_info object;
  return dladdr(caller, &object) && object.dli_fname ? find_in(object.dli_fname, symbol) : nullptr;
}

}  // namespace

void* find_next(const char* symbol) {
  if (has_two_layouts(symbol))
    if (void* today = dlvsym(RTLD_NEXT, symbol, "GLIBC_2.3.2")) return today;
  return real_dlsym(RTLD_NEXT, symbol);
}

void* find_function(const char* symbol) {
  int saved = errno;
  const auto* caller = reinterpret_cast<const void*>(outermost_own_frame()->return_address);
  void* found = find(symbol, caller);
  if (!found && strncmp(symbol, "nccl", 4) == 0) {
    char second_name[64] = "p";
    found = find(strncat(second_name, symbol, sizeof(second_name) - 2), caller);
  }
  errno = saved;
  return found;
}

void* resolve(trace::Call call) {
  const trace::CallInfo* info = trace::find_call(static_cast<std::uint16_t>(call));
  void* found = info ? find_function(info->symbol) : nullptr;
  if (found)
    __atomic_store_n(&real_functions[static_cast<int>(call)], found, __ATOMIC_RELAXED);
  else if (trace::FileWriter* file = open_recorder())
    file->count(trace::Health::unresolved_calls);
  return found;
}

}  // namespace ddpscope::injector
