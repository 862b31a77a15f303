// The function that a hook stands in front of.
#pragma once
#include "trace/calls.h"

namespace ddpscope::injector {

// Address of the real function of this call, resolved once: next in the link order, else in the vendor's
// library by soname (Python loads it RTLD_LOCAL, where "next" finds nothing), else in the object that called
// us; nullptr (counted) if nowhere.
void* resolve(trace::Call call, const void* return_address);

// The same for a symbol that is no call of the table: fills `*function` at the first need; false if it is
// nowhere.
bool find_real_symbol(void** function, const char* symbol, const void* return_address);

template <class Function>
inline bool find_real(Function* function, const char* symbol, const void* return_address) {
  return *function || find_real_symbol(reinterpret_cast<void**>(function), symbol, return_address);
}

extern void* real_functions[trace::kCallNumbers];

// real<Call::ncclAllReduce>(&ncclAllReduce)(arguments...): the hook's own type is the real one's.
template <trace::Call call, class Function>
inline Function* real(Function*) {
  void* known = __atomic_load_n(&real_functions[static_cast<int>(call)], __ATOMIC_RELAXED);
  return reinterpret_cast<Function*>(known ? known : resolve(call, __builtin_return_address(0)));
}

}  // namespace ddpscope::injector
