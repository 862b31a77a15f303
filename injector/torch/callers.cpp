// Libraries that call PyTorch's functions are few; each keeps what its calls lead to.
#include "injector/torch/callers.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <atomic>

#include "injector/core/loaded_object.h"
#include "injector/core/own_code.h"
#include "injector/core/process.h"
#include "injector/core/real.h"
#include "injector/core/safe_read.h"
#include "injector/core/turn.h"

namespace ddpscope::injector::torch {

Caller callers[kCallers];
std::uint32_t known_callers;
std::uintptr_t (*register_of)(_Unwind_Context* context, int number);

namespace {

std::atomic<bool> adding;

// What is asked of the loader may set it.
class KeptErrno {
 public:
  KeptErrno() : saved_(errno) {}
  ~KeptErrno() { errno = saved_; }

 private:
  int saved_;
};

// nullptr: there is no room, or another thread adds one; the function is looked up all the same.
Caller* add_caller(std::uintptr_t address, const LoadedObject& object) {
  Turn turn(adding);
  if (!turn) return nullptr;
  if (Caller* known = find_caller(address)) return known;
  if (known_callers == kCallers) return nullptr;
  Caller& added = callers[known_callers];
  added.begin = object.start;
  added.end = object.end;
  __atomic_store_n(&known_callers, known_callers + 1, __ATOMIC_RELEASE);
  return &added;
}

void* not_ours(void* found) {
  return found && is_own_code(reinterpret_cast<std::uintptr_t>(found)) ? nullptr : found;
}

void* look_up_in(const char* symbol, const LoadedObject& object) {
  const char* name = object.map->l_name;
  void* library = name && *name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* found = library ? not_ours(real_dlsym(library, symbol)) : nullptr;
  if (library) dlclose(library);
  return found;
}

// An executable has no name: behind us in the program's scope is what it is linked with.
void* look_up(const char* symbol, const LoadedObject& object) {
  void* found = look_up_in(symbol, object);
  return found ? found : not_ours(real_dlsym(RTLD_NEXT, symbol));
}

// A virtual function may be one of a library that the caller does not know: the object's table of functions
// lies in it. With a hidden result `this` is the second argument.
void* look_up_by_object(const HookedCall& call) {
  for (Argument which : {Argument::kThis, Argument::kResult}) {
    std::uintptr_t vtable = 0;
    LoadedObject object;
    if (read_safely(call.argument(which), &vtable, sizeof(vtable)) && find_loaded_object(vtable, &object))
      if (void* found = look_up_in(call.function().symbol, object)) return found;
  }
  return nullptr;
}

}  // namespace

void* find_visible(const char* symbol, std::uintptr_t address) {
  KeptErrno kept;
  LoadedObject object;
  if (!find_loaded_object(address, &object)) return nullptr;
  return look_up(symbol, object);
}

void* look_up_real(const HookedCall& call) {
  const std::uint32_t number = call.number;
  const std::uintptr_t return_address = call.return_address;
  KeptErrno kept;
  LoadedObject object;
  void* found = nullptr;
  Caller* caller = find_caller(return_address);
  if (find_loaded_object(return_address, &object)) {
    if (!caller) caller = add_caller(return_address, object);
    if (!register_of) register_of = reinterpret_cast<decltype(register_of)>(look_up("_Unwind_GetGR", object));
    found = look_up(call.function().symbol, object);
  }
  if (!found) found = look_up_by_object(call);
  if (found && caller) __atomic_store_n(&caller->real[number], found, __ATOMIC_RELAXED);
  trace::FileWriter* file = found ? nullptr : open_recorder();
  if (file) file->count(trace::Health::unresolved_calls);
  return found;
}

}  // namespace ddpscope::injector::torch
