// A pair of events is of the communicator's device, which need not be the thread's.
#include "injector/nccl/timed_calls.h"

#include "injector/device_times/device_scope.h"
#include "injector/nccl/functions.h"

namespace ddpscope::injector {

// Runs on one stream of one communicator: as many as a process needs that has all devices of a host in
// several communicators.
struct GroupedCollectives {
  static constexpr unsigned kRuns = 64;
  struct Run {
    EnqueuedCollectives collectives;
    std::uint64_t called;  // ticks
    EventPair* pair;       // while the group ends
    std::uint8_t device;
  };
  bool taken;  // by a thread; __atomic
  std::uint32_t used;
  Run runs[kRuns];
};

namespace {

// Too large for each thread's own state; few threads have a group open at a time.
constinit GroupedCollectives groups[16] = {};

GroupedCollectives* take_group() {
  for (GroupedCollectives& group : groups) {
    bool taken = false;
    if (__atomic_compare_exchange_n(&group.taken, &taken, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return &group;
  }
  return nullptr;
}

void give_back(GroupedCollectives& group) {
  group.used = 0;
  __atomic_store_n(&group.taken, false, __ATOMIC_RELEASE);
}

// Its place among those of the open group. False: there is none.
bool add_to_group(const EnqueuedCollectives& one, std::uint64_t called, std::uint8_t device) {
  GroupedCollectives*& group = this_thread.group.timed;
  if (!group && !(group = take_group())) return false;
  for (std::uint32_t i = 0; i < group->used; ++i) {
    EnqueuedCollectives& run = group->runs[i].collectives;
    if (run.stream != one.stream || run.communicator != one.communicator ||
        run.sequence + run.count != one.sequence)
      continue;
    ++run.count;
    return true;
  }
  if (group->used == GroupedCollectives::kRuns) return false;
  group->runs[group->used++] = {one, called, nullptr, device};
  return true;
}

}  // namespace

void TimedCollective::begin(trace::FileWriter& file, const OpenRecord& open, cudaStream_t stream, bool told) {
  begun_ = true;
  told_ = told;
  const auto& fields = open.payload<trace::payload::Collective>();
  if (told && fields.communicator)
    profiler::ask_operation(
        file, {open.record->begin, fields.buffer, fields.communicator, fields.sequence,
               this_thread.writer.known_number(), fields.device, function_of(open.record->call)});
  if (times_by_events(file)) begin_events(open, stream);
}

void TimedCollective::begin_events(const OpenRecord& open, cudaStream_t stream) {
  const auto& fields = open.payload<trace::payload::Collective>();
  collectives_ = {stream, fields.communicator, fields.sequence, 1};
  called_ = open.record->begin;
  ask_device();
  if (this_thread.group_depth) {
    if (!fields.communicator || !add_to_group(collectives_, called_, fields.device))
      ++this_thread.group.untimed;
    return;
  }
  if (fields.communicator)
    pair_ = begin_pair(collectives_, fields.device);
  else if (trace::FileWriter* file = file_of(open))
    file->count(trace::Health::device_work_untimed);
}

void TimedCollective::end_all(ncclResult_t result) {
  if (pair_) end_pair(pair_, collectives_, called_, result == ncclSuccess);
  if (collectives_.count && !this_thread.group_depth && result == ncclSuccess) note_return_to_device();
  if (told_) profiler::end_asking(this_thread.group_depth != 0);
}

void TimedGroup::begin() {
  OpenGroup& open = this_thread.group;
  trace::FileWriter* file = open_recorder();
  if (file && open.untimed) file->count(trace::Health::device_work_untimed, open.untimed);
  open.untimed = 0;
  for (std::uint32_t i = 0; open.timed && i < open.timed->used; ++i) {
    GroupedCollectives::Run& run = open.timed->runs[i];
    run.pair = begin_pair(run.collectives, run.device);
  }
}

void TimedGroup::end_all(ncclResult_t result) {
  GroupedCollectives& group = *this_thread.group.timed;
  for (std::uint32_t i = 0; i < group.used; ++i) {
    const GroupedCollectives::Run& run = group.runs[i];
    end_pair(run.pair, run.collectives, run.called, result == ncclSuccess);
  }
  this_thread.group.timed = nullptr;
  give_back(group);
  if (result == ncclSuccess) note_return_to_device();
}

}  // namespace ddpscope::injector
