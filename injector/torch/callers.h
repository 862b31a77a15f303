// The real function behind a hook, as the library that made the call would have bound it, or the one whose
// object it is called for: a process may hold two copies of PyTorch, and a library that Python opened
// RTLD_LOCAL is in no scope that this one could search.
#pragma once
#include <unwind.h>

#include <cstdint>

#include "injector/torch/hooked_call.h"

namespace ddpscope::injector::torch {

// A library that makes such calls, and what they lead to.
struct Caller {
  std::uintptr_t begin, end;  // of its code
  void* real[kFunctions];     // __atomic; null: not looked up yet
};
constexpr std::uint32_t kCallers = 8;
extern Caller callers[kCallers];
extern std::uint32_t known_callers;  // __atomic

inline Caller* find_caller(std::uintptr_t address) {
  std::uint32_t known = __atomic_load_n(&known_callers, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < known; ++i)
    if (address - callers[i].begin < callers[i].end - callers[i].begin) return &callers[i];
  return nullptr;
}

// nullptr (counted): nowhere, which a call that arrived here contradicts. Leaves errno.
void* look_up_real(const HookedCall& call);
inline void* find_real(const HookedCall& call) {
  Caller* caller = find_caller(call.return_address);
  void* known = caller ? __atomic_load_n(&caller->real[call.number], __ATOMIC_RELAXED) : nullptr;
  return __builtin_expect(known != nullptr, 1) ? known : look_up_real(call);
}

// _Unwind_GetGR, as PyTorch's libraries have it; null before their first call.
extern std::uintptr_t (*register_of)(_Unwind_Context* context, int number);

// Any function that the library at this address can see. Leaves errno.
void* find_visible(const char* symbol, std::uintptr_t address);

}  // namespace ddpscope::injector::torch
