// Without a lock: a number in each place says whose it is. What the parts of a kernel write is written by the
// one thread of NCCL that tells of them.
#include "injector/nccl_profiler/operations.h"

#include "injector/core/hook.h"
#include "injector/device_times/timing.h"
#include "injector/nccl/functions.h"
#include "injector/nccl_profiler/device_timer.h"
#include "trace/device_work.h"

namespace ddpscope::injector::profiler {
namespace {

constexpr std::uint32_t kOperations = 4096;  // a power of two
constexpr std::uint8_t kAllToAll = row_of(Call::ncclAlltoAll), kSend = row_of(Call::ncclSend);

struct Operation {
  OperationRef stamp;   // __atomic: whose the place is; 0: it is being filled in
  OperationRef before;  // asked for before it in the same group
  AskedOperation asked;
  std::uint32_t epoch;  // of the file that holds its call
  bool found, captured, by_device, parts_unknown, written;
  std::uint32_t parts, begun, ended;
  std::uint64_t begin, end;  // of its kernel, in the clock's own units
};
Operation operations[kOperations];
std::uint64_t asked_so_far;  // __atomic

Operation* find(OperationRef ref) {
  Operation& place = operations[ref % kOperations];
  return ref && __atomic_load_n(&place.stamp, __ATOMIC_ACQUIRE) == ref ? &place : nullptr;
}

std::uint64_t ticks_of(trace::FileWriter& file, const Operation& operation, std::uint64_t time) {
  return operation.by_device ? timer_ticks(file, operation.asked.device, time) : time;
}

void write_down(trace::FileWriter& file, Operation& operation) {
  std::uint64_t begin = ticks_of(file, operation, operation.begin);
  std::uint64_t end = ticks_of(file, operation, operation.end);
  if (!begin || end < begin) return file.count(trace::Health::device_work_untimed);
  const AskedOperation& asked = operation.asked;
  trace::DeviceWork work{};
  work.begin = begin;
  work.duration = static_cast<float>(end - begin);
  work.called = trace::call_time(asked.called);
  work.thread = asked.thread;
  work.kind = trace::DeviceWorkKind::kCollective;
  work.device = asked.device;
  work.subject = asked.communicator | std::uint64_t{asked.sequence} << 32;
  OwnWork own(&file);
  if (own) this_thread.writer.add_device_work(file, work, trace::Budget::kKept);
  operation.written = true;
}

// What was told so far of an operation that gives way.
void give_up(trace::FileWriter& file, Operation& operation) {
  bool expected = (operation.parts || operation.parts_unknown) && !operation.written && !operation.captured;
  if (!operation.stamp || operation.epoch != file.epoch() || !expected) return;
  if (operation.ended)
    write_down(file, operation);
  else
    file.count(trace::Health::device_work_untimed);
}

// A call for all ranks may be sends and receives.
bool stands_for(std::uint8_t asked, std::uint8_t told) {
  bool message = told >= kSend, of_messages = asked >= kAllToAll && asked < kSend;
  return asked == told || (message && of_messages);
}

}  // namespace

OperationRef ask_operation(trace::FileWriter& file, const AskedOperation& asked) {
  OperationRef ref = __atomic_add_fetch(&asked_so_far, 1, __ATOMIC_RELAXED);
  Operation& place = operations[ref % kOperations];
  give_up(file, place);
  __atomic_store_n(&place.stamp, 0, __ATOMIC_RELEASE);
  std::uint64_t before = this_thread.asked;
  place = Operation{0, before, asked, file.epoch(), false, false, false, false, false, 0, 0, 0, ~0ull, 0};
  __atomic_store_n(&place.stamp, ref, __ATOMIC_RELEASE);
  this_thread.asking = this_thread.asked = ref;
  return ref;
}

void end_asking(bool group_is_open) {
  this_thread.asking = 0;
  if (!group_is_open) this_thread.asked = 0;
}

const AskedOperation* asked_operation(OperationRef ref) {
  Operation* operation = find(ref);
  return operation ? &operation->asked : nullptr;
}

OperationRef find_asked(std::uint8_t function, const void* send, const void* receive) {
  OperationRef first = 0, by_buffer = 0, again = 0;
  OperationRef ref = this_thread.asked;
  for (Operation* operation = find(ref); operation; ref = operation->before, operation = find(ref)) {
    const AskedOperation& asked = operation->asked;
    if (!stands_for(asked.function, function)) continue;
    again = ref;
    if (operation->found) continue;
    first = ref;  // the list goes back
    bool same = asked.buffer && (asked.buffer == as_number(send) || asked.buffer == as_number(receive));
    if (same) by_buffer = ref;
  }
  return by_buffer ? by_buffer : first ? first : again;
}

void expect_parts(OperationRef ref, std::uint32_t parts) {
  Operation* operation = find(ref);
  if (!operation) return;
  operation->found = true;
  if (parts == 0) operation->parts_unknown = true;
  __atomic_fetch_add(&operation->parts, parts, __ATOMIC_RELAXED);
}

void mark_captured(OperationRef ref) {
  Operation* operation = find(ref);
  if (!operation || operation->captured) return;
  operation->captured = true;
  trace::FileWriter* file = open_recorder();
  // In tier events it is counted there.
  if (file && __atomic_load_n(&timing_tier, __ATOMIC_RELAXED) == TimingTier::kProfiler)
    file->count(trace::Health::device_work_untimed);
}

void begin_part(OperationRef ref, PartTime time) {
  Operation* operation = find(ref);
  trace::FileWriter* file = open_recorder();
  if (!operation || !file || operation->captured || operation->epoch != file->epoch()) return;
  operation->by_device = time.by_device;
  ++operation->begun;
  if (time.time < operation->begin) operation->begin = time.time;
  if (!time.by_device) return;
  std::uint8_t device = operation->asked.device;
  bound_timer(*file, device, time.time, operation->asked.called, true);
  bound_timer(*file, device, time.time, trace::read_ticks(file->clock().kind), false);
}

void note_end(OperationRef ref, PartTime time) {
  Operation* operation = find(ref);
  trace::FileWriter* file = open_recorder();
  if (!operation || !file || !operation->begun) return;
  if (time.time > operation->end) operation->end = time.time;
  if (time.by_device)
    bound_timer(*file, operation->asked.device, time.time, trace::read_ticks(file->clock().kind), false);
}

void end_part(OperationRef ref) {
  Operation* operation = find(ref);
  trace::FileWriter* file = open_recorder();
  if (!operation || !file || operation->captured || operation->epoch != file->epoch()) return;
  if (operation->ended == operation->begun) return;
  ++operation->ended;
  std::uint32_t parts = __atomic_load_n(&operation->parts, __ATOMIC_RELAXED);
  bool all = operation->parts_unknown ? operation->ended == operation->begun : operation->ended >= parts;
  if (all) write_down(*file, *operation);
}

}  // namespace ddpscope::injector::profiler
