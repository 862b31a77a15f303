// A pair of events is of the communicator's device, which need not be the thread's.
#include "injector/nccl/timed_calls.h"

#include "injector/device_times/device_scope.h"
#include "injector/nccl/functions.h"

namespace ddpscope::injector {
namespace {

EnqueuedCollectives enqueued(const GroupedCollectives::Run& run) {
  return {static_cast<cudaStream_t>(run.stream), run.communicator, run.sequence, run.count};
}

// Its place among those of the open group. False: there is none.
bool add_to_group(GroupedCollectives& grouped, const EnqueuedCollectives& one, std::uint64_t called,
                  std::uint8_t device) {
  for (std::uint32_t i = 0; i < grouped.used; ++i) {
    GroupedCollectives::Run& run = grouped.runs[i];
    if (run.stream != one.stream || run.communicator != one.communicator ||
        run.sequence + run.count != one.sequence)
      continue;
    ++run.count;
    return true;
  }
  if (grouped.used == GroupedCollectives::kRuns) return false;
  grouped.runs[grouped.used++] = {one.stream, called, one.communicator, one.sequence, 1, device};
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
    if (!fields.communicator || !add_to_group(this_thread.grouped, collectives_, called_, fields.device))
      ++this_thread.grouped.untimed;
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
  GroupedCollectives& grouped = this_thread.grouped;
  trace::FileWriter* file = open_recorder();
  if (file && grouped.untimed) file->count(trace::Health::device_work_untimed, grouped.untimed);
  grouped.untimed = 0;
  for (std::uint32_t i = 0; i < grouped.used; ++i)
    pairs_[i] = begin_pair(enqueued(grouped.runs[i]), grouped.runs[i].device);
}

void TimedGroup::end_all(ncclResult_t result) {
  GroupedCollectives& grouped = this_thread.grouped;
  for (std::uint32_t i = 0; i < grouped.used; ++i)
    end_pair(pairs_[i], enqueued(grouped.runs[i]), grouped.runs[i].called, result == ncclSuccess);
  grouped.used = 0;
  if (result == ncclSuccess) note_return_to_device();
}

}  // namespace ddpscope::injector
