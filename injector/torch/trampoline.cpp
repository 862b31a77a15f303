// The stubs that PyTorch's calls arrive at, and the one trampoline behind them.
//
// The trampoline knows nothing of a function's type: it saves the six registers that hold arguments, copies
// what may lie on the stack, and hands the result through. No function of the table takes or returns floating
// point numbers, or more than eight words on the stack.
//
// Exceptions pass: Gloo throws through these frames. The trampoline has unwinding information with a
// personality of our own, which takes note that the call has ended and lets the unwinder go on. There is no
// landing pad to return to; of libgcc only _Unwind_GetGR is used, once the guest has loaded it.
#include <unwind.h>

#include "injector/torch/callers.h"
#include "injector/torch/handlers.h"
#include "injector/torch/hooked_call.h"

namespace ddpscope::injector::torch {
namespace {

std::uint64_t mark_of(const HookedCall* call) {
  return reinterpret_cast<std::uintptr_t>(call) * 0x9E3779B97F4A7C15u;
}
bool is_under_way(const HookedCall* call) { return call->mark == mark_of(call); }

// The innermost call around this one. A longjmp leaves calls behind, as if they were still under way: those
// lie where this one is, or below, as the stack grows down; or others have overwritten their mark, and who
// was around them is not known.
inline HookedCall* find_outer(const HookedCall* call) {
  HookedCall* outer = this_thread.hooked_call;
  while (outer && outer <= call) outer = is_under_way(outer) ? outer->outer : nullptr;
  return outer && is_under_way(outer) ? outer : nullptr;
}

inline void end_call(HookedCall& call, bool threw) {
  call.mark = 0;
  this_thread.hooked_call = call.outer;
  if (auto* leave = call.function().handler->leave) leave(call, threw);
}

// In the trampoline's frame.
constexpr std::uintptr_t kCallBelowFramePointer = 144;

inline bool is_off() { return __atomic_load_n(&recording.state, __ATOMIC_RELAXED) == RecordingState::kOff; }

}  // namespace

const Function functions[kFunctions] = {
#define DDPSCOPE_TORCH(symbol, handler) \
  {#symbol, #handler, &handlers::handler, Call::kNone, Counted::kNothing, Argument::kNone},
#define DDPSCOPE_TORCH_COLLECTIVE(symbol, call, counted, options) \
  {#symbol, #call, &handlers::collective, Call::call, Counted::counted, Argument::options},
#include "injector/torch/functions.def"
#undef DDPSCOPE_TORCH
#undef DDPSCOPE_TORCH_COLLECTIVE
};

// Before the real function, which it returns. Handlers leave errno.
extern "C" __attribute__((visibility("hidden"))) void* ddpscope_torch_enter(HookedCall* call) {
  call->open = {};
  call->work = {};
  call->outer = find_outer(call);
  call->mark = mark_of(call);
  this_thread.hooked_call = call;
  if (auto* enter = call->function().handler->enter; enter && !is_off()) enter(*call);
  return find_real(*call);
}

extern "C" __attribute__((visibility("hidden"))) void ddpscope_torch_leave(HookedCall* call) {
  end_call(*call, false);
}

// Itanium C++ ABI, exception handling, 2.5.2: of the two phases the second leaves the frames, innermost
// first.
extern "C" __attribute__((visibility("hidden"))) int ddpscope_torch_unwind(int, int actions, std::uint64_t,
                                                                           void*, _Unwind_Context* context) {
  constexpr int kFramePointer = 6;  // rbp, as DWARF numbers it
  if ((actions & _UA_CLEANUP_PHASE) && register_of) {
    auto* call = reinterpret_cast<HookedCall*>(register_of(context, kFramePointer) - kCallBelowFramePointer);
    if (is_under_way(call)) end_call(*call, true);
  }
  return _URC_CONTINUE_UNWIND;
}

static_assert(offsetof(HookedCall, on_stack) == 48 && offsetof(HookedCall, return_address) == 56);
static_assert(offsetof(HookedCall, result) == 64 && offsetof(HookedCall, number) == 72);
static_assert(sizeof(HookedCall) <= 144);

}  // namespace ddpscope::injector::torch

// Stubs have even addresses: in a pointer to a member function an odd one stands for a virtual function
// (Itanium C++ ABI 2.3), and pybind11 calls the reducer by such pointers.
//
// A HookedCall lies at rsp + 64; below it, for the real function, its 8 words on the stack: copied by words,
// as they were written, for wider loads would wait until the words have left the store queue.
__asm__(R"(
  .text
  .type ddpscope_torch_trampoline, @function
ddpscope_torch_trampoline:
  .cfi_startproc
  .cfi_personality 0x1b, ddpscope_torch_unwind
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $208, %rsp
  movq %rdi, 64(%rsp)
  movq %rsi, 72(%rsp)
  movq %rdx, 80(%rsp)
  movq %rcx, 88(%rsp)
  movq %r8, 96(%rsp)
  movq %r9, 104(%rsp)
  leaq 16(%rbp), %rax
  movq %rax, 112(%rsp)
  movq 8(%rbp), %rax
  movq %rax, 120(%rsp)
  movl %r11d, 136(%rsp)
  leaq 64(%rsp), %rdi
  call ddpscope_torch_enter
  movq 16(%rbp), %rdi
  movq %rdi, 0(%rsp)
  movq 24(%rbp), %rdi
  movq %rdi, 8(%rsp)
  movq 32(%rbp), %rdi
  movq %rdi, 16(%rsp)
  movq 40(%rbp), %rdi
  movq %rdi, 24(%rsp)
  movq 48(%rbp), %rdi
  movq %rdi, 32(%rsp)
  movq 56(%rbp), %rdi
  movq %rdi, 40(%rsp)
  movq 64(%rbp), %rdi
  movq %rdi, 48(%rsp)
  movq 72(%rbp), %rdi
  movq %rdi, 56(%rsp)
  movq 64(%rsp), %rdi
  movq 72(%rsp), %rsi
  movq 80(%rsp), %rdx
  movq 88(%rsp), %rcx
  movq 96(%rsp), %r8
  movq 104(%rsp), %r9
  call *%rax
  movq %rax, 128(%rsp)
  leaq 64(%rsp), %rdi
  call ddpscope_torch_leave
  movq 128(%rsp), %rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size ddpscope_torch_trampoline, . - ddpscope_torch_trampoline

  .set ddpscope_torch_number, 0
  .macro ddpscope_torch_stub symbol
  .p2align 4
  .globl \symbol
  .type \symbol, @function
\symbol:
  .cfi_startproc
  endbr64
  movl $ddpscope_torch_number, %r11d
  jmp ddpscope_torch_trampoline
  .cfi_endproc
  .size \symbol, . - \symbol
  .set ddpscope_torch_number, ddpscope_torch_number + 1
  .endm
)"
#define DDPSCOPE_TORCH(symbol, handler) "ddpscope_torch_stub " #symbol "\n"
#define DDPSCOPE_TORCH_COLLECTIVE(symbol, call, counted, options) "ddpscope_torch_stub " #symbol "\n"
#include "injector/torch/functions.def"
#undef DDPSCOPE_TORCH
#undef DDPSCOPE_TORCH_COLLECTIVE
);
