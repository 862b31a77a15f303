// A process group is made and destroyed.
#include <string.h>

#include "injector/core/own_code.h"
#include "injector/core/safe_read.h"
#include "injector/process_groups/groups.h"
#include "injector/torch/group_names.h"
#include "injector/torch/handlers.h"
#include "injector/torch/missing_functions.h"
#include "injector/torch/profiler_scopes.h"

namespace ddpscope::injector::torch {
namespace {

// A constructor's arguments, without a hidden result: this, the store's intrusive_ptr, rank, size.
constexpr Argument kGroup = Argument::kResult, kStore = Argument::kThis, kRank = Argument::kFirst,
                   kSize = Argument::kSecond;

// Groups that PyTorch makes to check those of the program (TORCH_DISTRIBUTED_DEBUG=DETAIL).
bool checks_others(const char* name) { return strstr(name, "pg_wrapper") != nullptr; }

ProcessGroup* add(const HookedCall& call, const char* backend) {
  char name[kMaxGroupName];
  std::size_t length = name_of_store(*call.pointer<const void* const*>(kStore), name);
  return add_group(
      call.pointer<const void*>(kGroup),
      {trace::hash_bytes(name, length), name, backend, static_cast<std::int32_t>(call.argument(kRank)),
       static_cast<std::int32_t>(call.argument(kSize)), !checks_others(name)});
}

// It waits for the other ranks: the record is there before.
void enter_making(HookedCall& call, const char* backend) {
  watch_profiler_scopes(call.return_address);
  trace::FileWriter* file = recorder(Weight::kOpens);
  record_missing_functions(call.return_address);  // in that file, which this call may have opened
  OwnWork work(file);
  if (!work) return;
  ProcessGroup* group = add(call, backend);
  if (!group || !group->number) return;
  group->epoch = file->epoch();
  trace::payload::ProcessGroup payload = described(*file, *group);
  std::uint32_t stack = current_stack(*file);
  call.open = this_thread.writer.open<Call::c10d_group>(*file, payload, now(*file), stack);
}

void enter_making_of_gloo(HookedCall& call) { enter_making(call, "gloo"); }
void enter_making_of_nccl(HookedCall& call) { enter_making(call, "nccl"); }

// Whether its virtual functions, in a table of PyTorch's data, are those that the loader bound to this
// library: then its collectives will be seen. How long the table is nothing says.
bool leads_through_hooks(const void* object) {
  constexpr int kLookedAt = 64;
  const auto* vtable = *static_cast<const std::uintptr_t* const*>(object);
  for (int i = 0; i < kLookedAt; ++i) {
    std::uintptr_t function = 0;
    if (!read_safely(reinterpret_cast<std::uintptr_t>(vtable + i), &function, sizeof(function))) return false;
    if (is_own_code(function)) return true;
  }
  return false;
}

void leave_making(HookedCall& call, bool threw) {
  const auto* handle = call.pointer<const void*>(kGroup);
  ProcessGroup* group = find_group(handle);
  if (threw && group) remove_group(*group);
  trace::FileWriter* file = file_of(call.open);
  if (!file) return;
  if (!threw && !leads_through_hooks(handle)) file->count(trace::Health::torch_functions_unhooked);
  call.open.payload<trace::payload::ProcessGroup>().result = threw;
  end(call.open);
}

// Of the destructors that call each other the outermost is the first.
void enter_ending(HookedCall& call) {
  ProcessGroup* group = find_group(call.pointer<const void*>(kGroup));
  if (!group) return;
  trace::FileWriter* file = open_recorder();
  if (file && group->number) {
    OwnWork work(file);
    if (work) {
      announce<Call::c10d_group>(*file, *group);
      call.open = this_thread.writer.open<Call::c10d_group_end>(*file, described(*file, *group), now(*file),
                                                                python_place(*file));
    }
  }
  remove_group(*group);
}

void leave_ending(HookedCall& call, bool) { end(call.open); }

}  // namespace

const Handler handlers::make_group{enter_making_of_gloo, leave_making};
const Handler handlers::make_nccl_group{enter_making_of_nccl, leave_making};
const Handler handlers::end_group{enter_ending, leave_ending};

}  // namespace ddpscope::injector::torch
