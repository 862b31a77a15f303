// dlsym: programs that look functions of NCCL, CUDA, CUPTI and MPI up in a library that they opened (ctypes,
// plugins) get our hook in front of the function that they would have got; whoever asks whether a function
// exists at all gets the answer of the libraries, not of this one, which has them all.
#include <dlfcn.h>
#include <string.h>

#include "injector/core/modules.h"
#include "injector/core/own_code.h"
#include "injector/core/process.h"
#include "injector/core/real.h"

extern "C" {
using Dlsym = void*(void*, const char*);
__attribute__((visibility("hidden"))) Dlsym* ddpscope_libc_dlsym = nullptr;
}

namespace ddpscope::injector {
namespace {

Dlsym* libc_dlsym() {
  Dlsym* function = __atomic_load_n(&ddpscope_libc_dlsym, __ATOMIC_RELAXED);
  // The version that every glibc has: to ask for one that is missing would allocate.
  if (!function) function = reinterpret_cast<Dlsym*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  __atomic_store_n(&ddpscope_libc_dlsym, function, __ATOMIC_RELAXED);
  return function;
}

bool is_vendor_name(const char* symbol) {
  return symbol && (strncmp(symbol, "nccl", 4) == 0 || strncmp(symbol, "cuda", 4) == 0 ||
                    strncmp(symbol, "__cuda", 6) == 0 || strncmp(symbol, "MPI_", 4) == 0);
}

const trace::CallInfo* find_vendor_call(const char* symbol) {
  if (!is_vendor_name(symbol)) return nullptr;
  for (const trace::CallInfo& info : trace::kCalls)
    if (strcmp(info.symbol, symbol) == 0) return &info;
  return nullptr;
}

constexpr const char* kCuptiCalls[] = {
#define DDPSCOPE_CUPTI_CALL(symbol) #symbol,
#include "injector/device_times/cupti_calls.def"
#undef DDPSCOPE_CUPTI_CALL
};

bool is_cupti_client_call(const char* symbol) {
  if (!symbol || strncmp(symbol, "cupti", 5) != 0) return false;
  for (const char* call : kCuptiCalls)
    if (strcmp(symbol, call) == 0) return true;
  return false;
}

// By name PyTorch's functions are not hooked, and not to be seen where there is no PyTorch.
constexpr const char* kTorchFunctions[] = {
#define DDPSCOPE_TORCH(symbol, handler) #symbol,
#define DDPSCOPE_TORCH_COLLECTIVE(symbol, call, counted, options) #symbol,
#include "injector/torch/functions.def"
#undef DDPSCOPE_TORCH
#undef DDPSCOPE_TORCH_COLLECTIVE
};

bool is_torch_function(const char* symbol) {
  if (!symbol || strncmp(symbol, "_ZN", 3) != 0) return false;
  for (const char* function : kTorchFunctions)
    if (strcmp(symbol, function) == 0) return true;
  return false;
}

// Not &ncclAllReduce: that is the first definition in the program's scope, which may be somebody else's.
void* own_hook(const char* symbol) {
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&find_vendor_call), &self)) return nullptr;
  void* handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* hook = handle ? real_dlsym(handle, symbol) : nullptr;
  if (handle) dlclose(handle);
  return hook;
}

bool is_ours(void* function) { return is_own_code(reinterpret_cast<std::uintptr_t>(function)); }

// Our hook leads to what find_function() finds. It may stand for nothing else: a library that puts itself
// between the program and NCCL looks NCCL's functions up too, and would be called again and again.
void* hook_for(const trace::CallInfo& info, void* found) {
  void** place = &real_functions[static_cast<int>(info.call)];
  void* behind_hook = *place ? *place : find_function(info.symbol);
  if (behind_hook && behind_hook != found) return found;
  void* hook = own_hook(info.symbol);
  if (!hook) return found;
  __atomic_store_n(place, found, __ATOMIC_RELAXED);
  return hook;
}

// Of a copy of CUPTI that is not the one behind our hooks the program is the only client.
void* cupti_hook_for(const char* symbol, void* found) {
  void* hook = find_function(symbol) == found ? own_hook(symbol) : nullptr;
  return hook ? hook : found;
}

struct Answer {
  std::uint64_t given;  // 0: dlsym itself is to answer
  void* address;
};

// nullptr, and dlerror() says that there is no such function.
Answer missing(const char* symbol) { return {1, real_dlsym(RTLD_NEXT, symbol)}; }

// What the program would find without us: in its scope what lies behind us, in a library its own.
Answer torch_function(void* library, const char* symbol) {
  if (library == RTLD_NEXT) return {0, nullptr};
  void* found = library == RTLD_DEFAULT ? nullptr : real_dlsym(library, symbol);
  if (found && !is_ours(found)) return {1, found};
  return {1, real_dlsym(RTLD_NEXT, symbol)};
}

}  // namespace

// What `library` has by this name, as the guest is to see it.
extern "C" __attribute__((visibility("hidden"))) Answer ddpscope_answer_dlsym(void* library,
                                                                              const char* symbol) {
  libc_dlsym();
  if (is_torch_function(symbol)) return torch_function(library, symbol);
  const trace::CallInfo* info = find_vendor_call(symbol);
  if ((!info && !is_cupti_client_call(symbol)) || library == RTLD_NEXT) return {0, nullptr};
  // In the program's scope there is always ours: what lies behind it is the answer.
  if (library == RTLD_DEFAULT) return find_function(symbol) ? Answer{0, nullptr} : missing(symbol);
  void* found = real_dlsym(library, symbol);
  if (!found) return {0, nullptr};
  if (is_ours(found)) return real_dlsym(RTLD_NEXT, symbol) ? Answer{1, found} : missing(symbol);
  if (!may_record()) return {1, found};
  return {1, info ? hook_for(*info, found) : cupti_hook_for(symbol, found)};
}

void* real_dlsym(void* library, const char* symbol) { return libc_dlsym()(library, symbol); }

}  // namespace ddpscope::injector

// RTLD_NEXT and RTLD_DEFAULT mean something only with the true caller: the real function is jumped to, not
// called.
__asm__(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  call ddpscope_answer_dlsym
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  testq %rax, %rax
  jnz 1f
  jmp *ddpscope_libc_dlsym(%rip)
1:
  movq %rdx, %rax
  ret
  .cfi_endproc
  .size dlsym, . - dlsym
)");
