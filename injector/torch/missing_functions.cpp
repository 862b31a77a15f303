// Each kind is asked for once, with all names that its rows have.
#include "injector/torch/missing_functions.h"

#include <string.h>

#include "injector/core/hook.h"
#include "injector/torch/callers.h"
#include "injector/torch/handlers.h"

namespace ddpscope::injector::torch {
namespace {

std::uint32_t looked;  // __atomic

bool is_first_of_kind(std::uint32_t number) {
  for (std::uint32_t i = 0; i < number; ++i)
    if (strcmp(functions[i].kind, functions[number].kind) == 0) return false;
  return true;
}

// Of these a version has one or the other; a build without CUDA has no NCCL.
bool is_alternative(const Function& function) {
  return function.handler == &handlers::make_prefix || function.handler == &handlers::make_old_prefix ||
         function.handler == &handlers::make_nccl_group;
}

bool has_any(const char* kind, std::uintptr_t address) {
  for (const Function& function : functions)
    if (strcmp(function.kind, kind) == 0 && find_visible(function.symbol, address)) return true;
  return false;
}

}  // namespace

void record_missing_functions(std::uintptr_t address) {
  if (__atomic_load_n(&looked, __ATOMIC_RELAXED)) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work || __atomic_exchange_n(&looked, 1u, __ATOMIC_RELAXED)) return;
  for (std::uint32_t i = 0; i < kFunctions; ++i)
    if (is_first_of_kind(i) && !is_alternative(functions[i]) && !has_any(functions[i].kind, address))
      record_moment<Call::function_missing>(*file,
                                            {0, this_thread.writer.intern(*file, functions[i].kind), 0, 0});
}

}  // namespace ddpscope::injector::torch
