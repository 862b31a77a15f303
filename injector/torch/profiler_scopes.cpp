// A callback of at::RecordFunction, for scopes that programs name only: operators cost nothing.
#include "injector/torch/profiler_scopes.h"

#include <errno.h>
#include <string.h>

#include "injector/core/hook.h"
#include "injector/files/pool.h"
#include "injector/torch/callers.h"
#include "injector/torch/parameter_samples.h"
#include "injector/torch/parameters.h"

namespace ddpscope::injector::torch {
namespace {

// at::RecordFunctionCallback of PyTorch 1.13 to 2.15, passed on the stack.
struct Callback {
  void* (*start)(void** context, const void* scope);  // at::RecordFunction; the result is a unique_ptr
  void (*end)(const void* scope, void* context);
  double probability;
  bool scopes[10];
  bool needs_inputs, needs_outputs, needs_ids;
};
static_assert(sizeof(Callback) == 40);
constexpr int kUserScope = 7;

using AddCallback = std::uint64_t (*)(Callback);
using NameOf = const char* (*)(const void* scope);
NameOf name_of;

// Those of a thread that have not ended, outermost first. Not in the thread's own state, for which there is
// little room; a thread has a place for as long as it is in a scope.
struct OpenScope {
  const void* scope;
  Call call;
  OpenRecord open;
};
struct OpenScopes {
  static constexpr std::uint32_t kMost = 3;
  std::atomic<std::uint32_t> references{};
  std::uint32_t count{};
  OpenScope of[kMost]{};
};
constinit Pool<OpenScopes, 256> open_scopes;

OpenScopes* own_scopes() { return this_thread.scopes ? &open_scopes[this_thread.scopes - 1] : nullptr; }

OpenScopes* take_scopes() {
  std::uint32_t place = open_scopes.take();
  if (place == open_scopes.kNone) return nullptr;
  open_scopes[place].count = 0;
  this_thread.scopes = place + 1;
  return &open_scopes[place];
}

void give_scopes_back() {
  open_scopes.release(this_thread.scopes - 1);
  this_thread.scopes = 0;
}

struct Kind {
  const char* prefix;
  Call call;
};
constexpr Kind kKinds[] = {{"Optimizer.step#", Call::optimizer_step},
                           {"Optimizer.zero_grad#", Call::optimizer_zero_grad},
                           {"DistributedDataParallel.forward", Call::module_forward},
                           {"FullyShardedDataParallel.forward", Call::module_forward},
                           {"FSDP::pre_forward", Call::module_forward},
                           {"FullyShardedDataParallel._post_backward_hook", Call::sharded_gradients},
                           {"FSDP::post_backward_re", Call::sharded_gradients}};  // reshard, reduce

Call kind_of(const char* name) {
  for (const Kind& kind : kKinds)
    if (strncmp(name, kind.prefix, strlen(kind.prefix)) == 0) return kind.call;
  return Call::kNone;
}

template <Call call>
OpenRecord open(trace::FileWriter& file, const char* name, std::uint32_t stack) {
  return this_thread.writer.open<call>(file, {0, this_thread.writer.intern(file, name), 0, 0}, now(file),
                                       stack);
}

OpenRecord open(trace::FileWriter& file, Call call, const char* name, std::uint32_t stack) {
  switch (call) {
    case Call::optimizer_step:
      return open<Call::optimizer_step>(file, name, stack);
    case Call::optimizer_zero_grad:
      return open<Call::optimizer_zero_grad>(file, name, stack);
    case Call::sharded_gradients:
      return open<Call::sharded_gradients>(file, name, stack);
    default:
      return open<Call::module_forward>(file, name, stack);
  }
}

// An optimizer that calls another one makes one step, a wrapped module inside another one is part of its
// forward.
bool is_inside(const OpenScopes& scopes, Call call) {
  for (std::uint32_t i = 0; i < scopes.count; ++i)
    if (scopes.of[i].call == call) return true;
  return false;
}

void begin_scope(const void* scope) {
  Call call = kind_of(name_of(scope));
  if (call == Call::kNone) return;
  if (call == Call::optimizer_step) note_named_step();
  if (call == Call::optimizer_zero_grad) find_update();
  OpenScopes* scopes = own_scopes();
  if (scopes && (scopes->count == OpenScopes::kMost || is_inside(*scopes, call))) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return;
  std::uint32_t stack = current_stack(*file);
  if (call == Call::optimizer_step) record_parameter_samples(*file, stack);
  if (!scopes) scopes = take_scopes();
  if (scopes) scopes->of[scopes->count++] = {scope, call, open(*file, call, name_of(scope), stack)};
}

void end_scope(const void* scope) {
  OpenScopes* scopes = own_scopes();
  if (!scopes) return;
  while (scopes->count && scopes->of[scopes->count - 1].scope == scope) end(scopes->of[--scopes->count].open);
  if (!scopes->count) give_scopes_back();
}

void* start(void** context, const void* scope) {
  int saved = errno;
  *context = nullptr;
  begin_scope(scope);
  this_thread.made_last = 0;
  errno = saved;
  return context;
}

void stop(const void* scope, void*) {
  int saved = errno;
  end_scope(scope);
  errno = saved;
}

void* watched;  // __atomic; the function that was asked: another copy of PyTorch has its own

}  // namespace

bool is_in_named_step() {
  const OpenScopes* scopes = own_scopes();
  return scopes && is_inside(*scopes, Call::optimizer_step);
}

void watch_profiler_scopes(std::uintptr_t address) {
  if (__atomic_load_n(&watched, __ATOMIC_RELAXED)) return;
  void* add = find_visible("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", address);
  void* name = find_visible("_ZNK2at14RecordFunction4nameEv", address);
  void* expected = nullptr;
  if (!add || !name ||
      !__atomic_compare_exchange_n(&watched, &expected, add, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return;
  name_of = reinterpret_cast<NameOf>(name);
  Callback callback{start, stop, 1.0, {}, false, false, false};
  callback.scopes[kUserScope] = true;
  int saved = errno;
  reinterpret_cast<AddCallback>(add)(callback);
  errno = saved;
}

}  // namespace ddpscope::injector::torch
