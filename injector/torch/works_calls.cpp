// What becomes of an operation after its call: a thread of the library runs it, the program waits for it.
#include "injector/torch/handlers.h"
#include "injector/torch/tensors.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::torch {
namespace {

using trace::payload::GroupWork;

using enum trace::WorkFlags;

// An intrusive_ptr is passed by address, be it by value or by reference.
const void* work_at(const HookedCall& call, Argument which) {
  return *call.pointer<const void* const*>(which);
}

// Before the operation's thread can see it. The call that makes it is this thread's innermost one that was
// recorded.
void enter_enqueue(HookedCall& call) {
  HookedCall* maker = find_around(call, handlers::collective);
  while (maker && !maker->work.operation) maker = find_around(*maker, handlers::collective);
  if (maker) remember_work(work_at(call, Argument::kThis), maker->work);
}

void enter_execute(HookedCall& call) { call.work = find_work(work_at(call, Argument::kResult)); }

template <Call row>
void open(HookedCall& call, std::uint64_t operation, std::uint8_t flags, bool with_stack) {
  trace::FileWriter* file = operation ? recorder(Weight::kOpens) : nullptr;
  OwnWork work(file);
  if (!work) return;
  std::uint32_t stack = with_stack ? current_stack(*file) : 0;
  GroupWork payload{communicator_of(operation), sequence_of(operation), flags, 0};
  call.open = this_thread.writer.open_regular<row>(*file, payload, now(*file), stack);
}

void leave(HookedCall& call, bool threw) {
  trace::FileWriter* file = file_of(call.open);
  if (!file) return;
  call.open.payload<GroupWork>().result = threw;
  end(call.open);
}

// Gloo's own count of elements (gloo/allreduce.h, gloo/broadcast.h), at the same offset in all versions.
// Complex numbers are two there.
void compare_counts(const HookedCall& call, std::uint64_t expected) {
  const auto* options = call.pointer<const char*>(Argument::kResult);
  std::size_t offset = 0;
  if (call.number == k_ZN4gloo9allreduceERKNS_16AllreduceOptionsE) offset = 80;
  if (call.number == k_ZN4gloo9broadcastERNS_16BroadcastOptionsE) offset = 32;
  if (!offset || !expected) return;
  std::uint64_t counted = *reinterpret_cast<const std::uint64_t*>(options + offset);
  if (counted == expected || counted == 2 * expected) return;
  refuse_layout();
  if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::torch_values_unread);
}

void enter_run(HookedCall& call) {
  HookedCall* executed = find_around(call, handlers::execute);
  if (!executed || find_around(call, handlers::run)) return;
  compare_counts(call, executed->work.count);
  open<Call::c10d_run>(call, executed->work.operation, 0, false);
}

void enter_wait(HookedCall& call) {
  KnownWork known = find_work(call.pointer<const void*>(Argument::kResult));
  bool at_once = known.operation && known.operation == this_thread.made_last;
  this_thread.made_last = 0;
  if (!find_around(call, handlers::wait))
    open<Call::c10d_wait>(call, known.operation, at_once ? kAtOnce : 0, true);
}

}  // namespace

const Handler handlers::enqueue{enter_enqueue, nullptr};
const Handler handlers::execute{enter_execute, nullptr};
const Handler handlers::run{enter_run, leave};
const Handler handlers::wait{enter_wait, leave};
const Handler handlers::reducer_bucket{nullptr, nullptr};

}  // namespace ddpscope::injector::torch
