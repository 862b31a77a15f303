// Never a second copy beside the program's: each would be a subscriber of its own.
#include "injector/device_times/cupti_library.h"

#include <dlfcn.h>

#include "injector/core/own_code.h"
#include "injector/core/real.h"

namespace ddpscope::injector {
namespace {

void* open_library() {
  constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  for (int load : {RTLD_NOLOAD, 0})
    for (const char* name : kNames)
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | load)) return handle;
  return nullptr;
}

// False: there is no such function but perhaps our own hook.
template <class Function>
bool find(void* library, const char* symbol, Function& function) {
  void* found = real_dlsym(library, symbol);
  if (found && is_own_code(reinterpret_cast<std::uintptr_t>(found))) found = nullptr;
  function = reinterpret_cast<Function>(found);
  return found;
}

bool load(Cupti& c) {
  void* library = open_library();
  if (!library) return false;
  find(library, "cuptiActivityEnableRuntimeApi", c.enable_runtime);
  find(library, "cuptiActivityEnableDriverApi", c.enable_driver);
  find(library, "cuptiGetResultString", c.name_of);
  find(library, "cuptiGetLastError", c.last_error);
  return find(library, "cuptiSubscribe", c.subscribe) && find(library, "cuptiUnsubscribe", c.unsubscribe) &&
         find(library, "cuptiActivityRegisterCallbacks", c.register_callbacks) &&
         find(library, "cuptiActivityEnable", c.enable) && find(library, "cuptiActivityDisable", c.disable) &&
         find(library, "cuptiActivityFlushAll", c.flush) &&
         find(library, "cuptiActivityGetNextRecord", c.next_record) &&
         find(library, "cuptiActivityGetNumDroppedRecords", c.dropped) &&
         find(library, "cuptiActivityPushExternalCorrelationId", c.push) &&
         find(library, "cuptiActivityPopExternalCorrelationId", c.pop) &&
         find(library, "cuptiGetTimestamp", c.timestamp);
}

}  // namespace

// Asked by whoever decides how device work is timed: one thread at a time.
const Cupti* cupti() {
  static Cupti library;
  static int found;  // 0: not yet asked, 1: there, 2: not
  if (!found) found = load(library) ? 1 : 2;
  return found == 1 ? &library : nullptr;
}

}  // namespace ddpscope::injector
