// Finds libgcc_s among what is loaded already: it is never loaded for our sake.
#include "injector/core/unwind.h"

#include <dlfcn.h>
#include <unwind.h>

#include "injector/core/own_code.h"

namespace ddpscope::injector {
namespace {

struct Unwinder {
  decltype(&_Unwind_Backtrace) backtrace;
  decltype(&_Unwind_GetIP) address;
};
Unwinder unwinder;

// At load, when all that the guest links is mapped: later a lock of the loader could be in the guest's hands.
__attribute__((constructor(102))) void find_unwinder() {
  void* library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return;
  unwinder.address = reinterpret_cast<decltype(unwinder.address)>(dlsym(library, "_Unwind_GetIP"));
  unwinder.backtrace = reinterpret_cast<decltype(unwinder.backtrace)>(dlsym(library, "_Unwind_Backtrace"));
}

struct Collected {
  std::uintptr_t* addresses;
  int count;
  int room;
};

_Unwind_Reason_Code collect(_Unwind_Context* context, void* argument) {
  auto* collected = static_cast<Collected*>(argument);
  std::uintptr_t address = unwinder.address(context);
  if (!address) return _URC_END_OF_STACK;
  if (!is_own_code(address)) collected->addresses[collected->count++] = address;
  return collected->count < collected->room ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

int unwind(std::uintptr_t* addresses, int room) {
  if (!unwinder.backtrace || !unwinder.address) return 0;
  Collected collected{addresses, 0, room};
  unwinder.backtrace(collect, &collected);
  return collected.count;
}

}  // namespace ddpscope::injector
