// The program's operations on process groups, as it calls them.
#include "injector/process_groups/groups.h"
#include "injector/torch/handlers.h"
#include "injector/torch/options.h"
#include "injector/torch/tensors.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::torch {
namespace {

using trace::payload::GroupCollective;
using enum trace::GroupFlags;

// What a hook knows of an operation besides its group.
struct Operation {
  std::uint64_t count = 0;
  std::uint32_t flags = 0;
  std::int32_t peer = -1, tag = 0;
  std::uint64_t reducer = 0;
  std::uint8_t datatype = kUnknownType;
  std::uint8_t reduction = kNoReduction;
};

std::uint32_t flags_of(Mode mode) {
  return mode == Mode::kUnknown ? 0u : mode == Mode::kAsynchronous ? kAsynchronous : kSynchronous;
}

std::int32_t number(const HookedCall& call, Argument which) {
  return static_cast<std::int32_t>(call.argument(which));
}

Operation collective_of(const HookedCall& call, const ProcessGroup& group) {
  const Function& function = call.function();
  Operation operation;
  Elements elements = count_elements(call, function.counted);
  Options options = read_options(call, group.size);
  operation.count = elements.count;
  operation.datatype = elements.datatype;
  operation.peer = options.root;
  operation.reduction = options.reduction;
  operation.flags = flags_of(options.mode);
  if (!elements.read || !options.read) operation.flags |= kUnread;
  if (const HookedCall* bucket = find_around(call, handlers::reducer_bucket)) {
    operation.flags |= kByReducer;
    operation.reducer = bucket->argument(Argument::kResult);  // it returns nothing: its object
  }
  if (function.call == Call::c10d_send || function.call == Call::c10d_recv) {
    operation.peer = number(call, Argument::kSecond);
    operation.tag = number(call, Argument::kThird);
  }
  return operation;
}

// As one of them calls others: an all-gather into one tensor is an all-gather.
bool is_inside_another(const HookedCall& call) {
  return find_around(call, handlers::collective) || find_around(call, handlers::receive_from_any) ||
         find_around(call, handlers::monitored_barrier);
}

// Gloo's worker counts the same elements: a reduce-scatter is an all-reduce of what all ranks get there.
constexpr bool is_counted_alike(Call row) {
  return row == Call::c10d_allreduce || row == Call::c10d_broadcast;
}

template <Call row>
void open(trace::FileWriter& file, HookedCall& call, ProcessGroup& group, const Operation& operation) {
  std::uint32_t sequence = __atomic_fetch_add(&group.operations, 1, __ATOMIC_RELAXED);
  GroupCollective payload{group.number,
                          sequence,
                          operation.count,
                          operation.flags,
                          operation.tag,
                          operation.reducer,
                          operation.peer,
                          operation.datatype,
                          operation.reduction,
                          0,
                          0};
  bool counted = is_counted_alike(row) && operation.datatype != kUnknownType;
  call.work = {operation_of(group.number, sequence), counted ? operation.count : 0};
  std::uint32_t stack = current_stack(file);
  call.open = this_thread.writer.open_regular<row>(file, payload, now(file), stack);
}

// A row of calls.def is a type in the writer, so each has a function of its own.
using Opener = void (*)(trace::FileWriter&, HookedCall&, ProcessGroup&, const Operation&);
struct Row {
  Call call;
  Opener open;
};
constexpr Row kRows[] = {{Call::c10d_allreduce, open<Call::c10d_allreduce>},
                         {Call::c10d_allgather, open<Call::c10d_allgather>},
                         {Call::c10d_reduce_scatter, open<Call::c10d_reduce_scatter>},
                         {Call::c10d_broadcast, open<Call::c10d_broadcast>},
                         {Call::c10d_reduce, open<Call::c10d_reduce>},
                         {Call::c10d_alltoall, open<Call::c10d_alltoall>},
                         {Call::c10d_gather, open<Call::c10d_gather>},
                         {Call::c10d_scatter, open<Call::c10d_scatter>},
                         {Call::c10d_barrier, open<Call::c10d_barrier>},
                         {Call::c10d_monitored_barrier, open<Call::c10d_monitored_barrier>},
                         {Call::c10d_send, open<Call::c10d_send>},
                         {Call::c10d_recv, open<Call::c10d_recv>}};

Opener opener_of(Call call) {
  for (const Row& row : kRows)
    if (row.call == call) return row.open;
  return nullptr;
}

// `describe` is asked once it is known that the call is to be recorded.
template <class Describe>
void begin_operation(HookedCall& call, Argument self, Call row, Describe describe) {
  if (is_inside_another(call)) return;
  this_thread.made_last = 0;
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (!work) return;
  ProcessGroup* group = find_group(call.pointer<const void*>(self));
  if (!group) return file->count(trace::Health::unknown_communicators);
  if (!group->number) return;
  announce<Call::c10d_group>(*file, *group);
  Operation operation = describe(*group);
  if (operation.flags & kUnread) file->count(trace::Health::torch_values_unread);
  opener_of(row)(*file, call, *group, operation);
}

void enter_collective(HookedCall& call) {
  begin_operation(call, Argument::kThis, call.function().call,
                  [&](const ProcessGroup& group) { return collective_of(call, group); });
}

void enter_receive_from_any(HookedCall& call) {
  begin_operation(call, Argument::kThis, Call::c10d_recv, [&](const ProcessGroup&) {
    Elements elements = count_elements(call, Counted::kFirstVector);
    return Operation{.count = elements.count,
                     .flags = elements.read ? 0u : kUnread,
                     .tag = number(call, Argument::kSecond),
                     .datatype = elements.datatype};
  });
}

// It returns nothing, so that the group is its first argument.
void enter_monitored_barrier(HookedCall& call) {
  begin_operation(call, Argument::kResult, Call::c10d_monitored_barrier,
                  [](const ProcessGroup&) { return Operation{.flags = kSynchronous}; });
}

void finish(HookedCall& call, bool threw) {
  trace::FileWriter* file = file_of(call.open);
  if (!file) return;
  call.open.payload<GroupCollective>().result = threw;
  end(call.open);
}

// What it returns lets others wait for it; those that never enter a queue (send, receive) are known by it
// alone.
void leave_message(HookedCall& call, bool threw) {
  if (call.work.operation) finish(call, threw);
  if (threw) return;
  // One that is not recorded is remembered as such: an older one was at the same address.
  remember_work(*reinterpret_cast<const void* const*>(call.result), call.work);
  this_thread.made_last = call.work.operation;
}

void leave_collective(HookedCall& call, bool threw) {
  bool is_message = call.function().call == Call::c10d_send || call.function().call == Call::c10d_recv;
  if (call.work.operation || is_message) leave_message(call, threw);
}

void leave_monitored_barrier(HookedCall& call, bool threw) { finish(call, threw); }

}  // namespace

const Handler handlers::collective{enter_collective, leave_collective};
const Handler handlers::receive_from_any{enter_receive_from_any, leave_message};
const Handler handlers::monitored_barrier{enter_monitored_barrier, leave_monitored_barrier};

}  // namespace ddpscope::injector::torch
