// The function that a hook stands in front of.
#pragma once
#include "trace/calls.h"

namespace ddpscope::injector {

// dlsym of libc, also where our own stands before it (dlsym.cpp). RTLD_NEXT means: after this library.
void* real_dlsym(void* library, const char* symbol);

// The next function of this name in the link order, after this library. Where there is one nothing is
// allocated: an allocator may be the one that calls.
void* find_next(const char* symbol);

// A function of libc, CUDA, NCCL or MPI by its name: next in the link order, else in the vendor's library by
// soname (Python loads it RTLD_LOCAL, where "next" finds nothing), else in the object that called us (it
// holds a static copy); for NCCL also under its second name pnccl..., which stays when somebody replaced the
// first. nullptr if nowhere. Leaves errno.
void* find_function(const char* symbol);

// The same for a row of calls.def, remembered; nullptr is counted.
void* resolve(trace::Call call);

// The same for a function that is no call of the table; in static storage.
template <class Function>
class NamedFunction {
 public:
  constexpr explicit NamedFunction(const char* symbol) : symbol_(symbol) {}
  Function* get() {
    void* known = __atomic_load_n(&known_, __ATOMIC_RELAXED);
    if (!known) {
      known = find_function(symbol_);
      __atomic_store_n(&known_, known, __ATOMIC_RELAXED);
    }
    return reinterpret_cast<Function*>(known);
  }

 private:
  const char* symbol_;
  void* known_ = nullptr;
};

extern void* real_functions[trace::kCallNumbers];

// real<Call::ncclAllReduce>(&ncclAllReduce)(arguments...): the hook's own type is the real one's.
template <trace::Call call, class Function>
inline Function* real(Function*) {
  void* known = __atomic_load_n(&real_functions[static_cast<int>(call)], __ATOMIC_RELAXED);
  return reinterpret_cast<Function*>(known ? known : resolve(call));
}

}  // namespace ddpscope::injector
