// Counts calls and keeps what identity is made from.
#include "collector/reading/census.h"

#include <algorithm>

namespace ddpscope::reading {
namespace {

using model::EventPlace;
using model::Process;
using trace::Operation;
using trace::Record;

// What is told beside the guest's calls, and what the program itself puts on its time line.
constexpr trace::OperationSet kNoCalls =
    trace::OperationSet{
        Operation::kThread,           Operation::kDigest,          Operation::kCopyDigest,
        Operation::kValueRead,        Operation::kStoreKey,        Operation::kJobWatched,
        Operation::kJobTold,          Operation::kProcessEnded,    Operation::kMark,
        Operation::kTraceback,        Operation::kMemoryRanOut,    Operation::kThreadSeen,
        Operation::kProcessOutlived,  Operation::kProcessorWait,   Operation::kLoaderBatch,
        Operation::kCollectiveChoice, Operation::kMissingFunction, Operation::kUnhookedCommunicator,
        Operation::kParameterSample} |
    trace::OperationSet::range(Operation::kRangePush, Operation::kRangeEnd);

void take_setting(Process& process, const Record& record) {
  auto setting = trace::payload_of<trace::payload::Setting>(record);
  std::string_view value = process.file.string(setting.value);
  if (record.call == static_cast<std::uint16_t>(trace::Call::environment))
    process.environment[process.file.string(setting.name)] = value;
  if (record.call == static_cast<std::uint16_t>(trace::Call::argument)) process.arguments.push_back(value);
}

// A call that failed made no communicator; one that never returned still says who tried to join what.
void take_membership(Process& process, EventPlace place, const Record& record) {
  auto made = trace::payload_of<trace::payload::Communicator>(record);
  constexpr int kInProgress = 7;  // ncclInProgress: a non-blocking communicator comes to be later
  bool failed = record.end && made.result != 0 && made.result != kInProgress;
  if (failed || made.communicator == 0 || made.size <= 0) return;
  // A grown communicator is no part of another: it has all ranks of the old one, by their numbers, and more.
  bool grown = record.call == static_cast<std::uint16_t>(trace::Call::ncclCommGrow);
  process.memberships.push_back(
      {made.id, made.communicator, grown ? 0 : made.parent, made.rank, made.size, place});
}

}  // namespace

void take_census(Process& process) {
  model::for_each(process.file, [&](EventPlace place, const Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (!info) return;
    if (info->operation == Operation::kSetting) return take_setting(process, record);
    process.cut_short = false;
    process.last_ticks = std::max({process.last_ticks, record.begin, record.end});
    process.ranges += info->operation == Operation::kRangePush || info->operation == Operation::kRangeStart;
    process.marks += info->operation == Operation::kMark;
    if (kNoCalls.has(info->operation)) return;
    process.calls[static_cast<std::size_t>(model::class_of(info->payload))] +=
        model::folded_calls(record, *info);
    if (info->operation == Operation::kUnhookedCollective) ++process.unhooked;
    if (info->operation == Operation::kCommunicatorInit || info->operation == Operation::kCommunicatorSplit)
      take_membership(process, place, record);
  });
  std::uint64_t items = 0;
  for (const trace::ItemSpan& span : process.file.items()) items += span.items.size();
  process.calls[static_cast<std::size_t>(model::CallClass::kFiles)] += items;
}

}  // namespace ddpscope::reading
