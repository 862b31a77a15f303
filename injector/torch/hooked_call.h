// A call of one of PyTorch's functions that is under way.
#pragma once
#include <cstddef>

#include "injector/core/hook.h"
#include "injector/process_groups/works.h"
#include "injector/torch/functions.h"

namespace ddpscope::injector::torch {

// Lies in the trampoline's frame, which fills in the first part (trampoline.cpp); zero where nothing else is
// said.
struct HookedCall {
  std::uint64_t arguments[6];     // of the registers, as Argument numbers them
  const std::uint64_t* on_stack;  // the others
  std::uintptr_t return_address;  // into the library that made the call
  std::uint64_t result;           // once it has returned: an object's address, a number, a bool
  std::uint32_t number;           // in `functions`
  std::uint32_t unused;

  HookedCall* outer;   // the call of this thread around it
  std::uint64_t mark;  // made of its address for as long as it is under way
  OpenRecord open;     // of this call, if it is recorded
  KnownWork work;      // the operation of a process group that it makes or runs

  const Function& function() const { return functions[number]; }
  std::uint64_t argument(Argument which) const {
    auto index = static_cast<unsigned>(which);
    return index < 6 ? arguments[index] : on_stack[index - 6];
  }
  template <class Pointer>
  Pointer pointer(Argument which) const {
    return reinterpret_cast<Pointer>(argument(which));
  }
  bool is_handled_by(const Handler& handler) const { return function().handler == &handler; }
};

// The innermost call around `call` that `handler` handles; nullptr: none.
inline HookedCall* find_around(const HookedCall& call, const Handler& handler) {
  HookedCall* outer = call.outer;
  while (outer && !outer->is_handled_by(handler)) outer = outer->outer;
  return outer;
}

}  // namespace ddpscope::injector::torch
