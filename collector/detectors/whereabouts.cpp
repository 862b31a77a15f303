// The last signs of life of a process.
#include "collector/detectors/whereabouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::detectors {
namespace {

using matching::Member;
using model::EventRef;
using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

// A call that takes longer than this while others wait is where the rank is stuck.
constexpr std::int64_t kStuck = 1'000'000'000;

constexpr trace::OperationSet kNoProgress{
    Operation::kStreamQuery, Operation::kEventQuery, Operation::kCommunicatorQuery, Operation::kStat,
    Operation::kAccess,      Operation::kHandOver,   Operation::kRelease,           Operation::kSetDevice,
    Operation::kSetting,     Operation::kSharedWait, Operation::kSharedPost};

constexpr trace::OperationSet kSaving{Operation::kWrite, Operation::kSync, Operation::kClose,
                                      Operation::kTruncate, Operation::kTransfer};

struct Signs {
  std::optional<EventRef> inside;  // the call that has not returned
  std::optional<EventRef> last;
  std::optional<EventRef> traced;
};

Signs find_signs(const Job& job, const matching::Collectives& collectives, const Member& member) {
  std::uint16_t thread = issuing_thread(collectives, member);
  Signs signs;
  model::for_each_in_time(job.processes[member.process].file,
                          [&](model::EventPlace place, const Record& record) {
                            EventRef event{member.process, place};
                            Operation operation = trace::operation_of(record.call);
                            if (record.thread != thread) return;
                            signs.last = event;
                            if (record.stack) signs.traced = event;
                            if (record.end == 0 && operation != Operation::kExit) signs.inside = event;
                          });
  return signs;
}

// A record of many calls began long before the last of them.
std::string name_and_time(const Job& job, EventRef event) {
  const Record& record = job.record(event);
  bool many = record.end && is_run(record);
  return fmt::format("{} at {}", call_and_file(job, event),
                     seconds(many ? job.end_ns(event) : job.begin_ns(event)));
}

// Neither a question, nor one for a child that had not ended.
bool brings_on(const Record& record) {
  Operation operation = trace::operation_of(record.call);
  bool in_vain = operation == Operation::kWaitChild && record.end &&
                 trace::payload_of<trace::payload::Process>(record).pid == 0;
  return !in_vain && !kNoProgress.has(operation);
}

// Of a connection whose making is not in what was read nobody knows whom it leads to.
bool leads_outside(const ordering::StreamEnds& streams, ordering::EndId id, std::uint32_t process) {
  const ordering::StreamEnd& end = streams.ends.at(id);
  auto peer = end.peer ? streams.ends.find(*end.peer) : streams.ends.end();
  auto by_others = [&](const ordering::StreamEnd& held) {
    return std::any_of(held.holders.begin(), held.holders.end(),
                       [&](const auto& holder) { return holder.first != process; });
  };
  return end.made && !end.of_store && !by_others(end) &&
         (peer == streams.ends.end() || !by_others(peer->second));
}

}  // namespace

void add_evidence_of(const Job& job, const Whereabouts& found, std::int32_t rank,
                     findings::Finding& finding) {
  auto add = [&](EventRef event, std::string detail) {
    finding.evidence.push_back(evidence_of(job, event, std::move(detail)));
    finding.evidence.back().rank = rank;
  };
  if (!found.event) return;
  if (job.record(*found.event).stack == 0 && found.traced)
    add(*found.traced, "the last call of the missing rank whose place in the program is known");
  add(*found.event, "never came: " + found.sentence);
}

std::uint16_t issuing_thread(const matching::Collectives& collectives, const Member& member) {
  std::optional<std::uint32_t> last;
  for (const matching::Numbers* calls : {&member.calls, &member.point_to_point})
    if (!calls->empty()) last = std::max(last.value_or(0), calls->back());
  return last ? collectives.calls.form(*last).thread : model::kMainThread;
}

std::set<std::uint16_t> issuing_threads(const matching::Collectives& collectives, const Member& member) {
  std::set<std::uint16_t> threads;
  for (const matching::Numbers* calls : {&member.calls, &member.point_to_point})
    for (std::uint32_t call : *calls) threads.insert(collectives.calls.form(call).thread);
  return threads;
}

bool is_run(const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  return info && model::folded_calls(record, *info) > 1;
}

bool is_run_of_transfers(const Record& record) {
  constexpr trace::OperationSet kTransfers{Operation::kRead, Operation::kWrite};
  return kTransfers.has(trace::operation_of(record.call)) && is_run(record);
}

std::int64_t last_act_ns(const Job& job, std::uint32_t process, const std::set<std::uint16_t>& threads,
                         OpenRun open_run, std::int64_t until_ns) {
  constexpr trace::OperationSet kDeviceWork{Operation::kCopy, Operation::kFill, Operation::kLaunch,
                                            Operation::kGraphLaunch};
  std::int64_t last_ns = 0;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    Operation operation = trace::operation_of(record.call);
    bool own = record.thread == model::kMainThread || threads.count(record.thread);
    if (own ? !brings_on(record) : !kDeviceWork.has(operation)) return;
    std::int64_t begin_ns = job.time_ns(process, record.begin);
    if (begin_ns > until_ns) return;
    last_ns = std::max(last_ns, begin_ns);
    if (record.end && job.time_ns(process, record.end) <= until_ns)
      last_ns = std::max(last_ns, job.time_ns(process, record.end));
    else if (open_run == OpenRun::kMayHaveJustActed && is_run_of_transfers(record))
      last_ns = until_ns;
  });
  return last_ns;
}

std::int64_t last_save_ns(const Job& job, std::uint32_t process, std::int64_t until_ns) {
  std::int64_t last_ns = 0;
  model::for_each(job.processes[process].file, kSaving, [&](model::EventPlace, const Record& record) {
    std::int64_t begin_ns = job.time_ns(process, record.begin);
    if (begin_ns > until_ns) return;
    last_ns = std::max(last_ns, std::min(record.end ? job.time_ns(process, record.end) : until_ns, until_ns));
  });
  for (std::uint32_t child = 0; child < job.processes.size(); ++child)
    if (job.processes[child].parent == static_cast<std::int32_t>(process) && child != process)
      last_ns = std::max(last_ns, last_save_ns(job, child, until_ns));
  return last_ns;
}

bool awaits_own(const Job& job, std::uint32_t process, const std::set<std::uint16_t>& threads,
                std::int64_t at_ns) {
  bool found = false;
  model::for_each(job.processes[process].file, kAwaitsOwn, [&](model::EventPlace, const Record& record) {
    if (!threads.contains(record.thread) || job.time_ns(process, record.begin) > at_ns) return;
    found = found || record.end == 0 || job.time_ns(process, record.end) > at_ns;
  });
  return found;
}

bool spoke_with_an_outsider(const Job& job, std::uint32_t process, const std::set<std::uint16_t>& threads,
                            std::int64_t at_ns) {
  constexpr trace::OperationSet kSpeaking{Operation::kStreamSend, Operation::kStreamReceive,
                                          Operation::kConnect};
  std::optional<Record> last;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    bool own = record.thread == model::kMainThread || threads.contains(record.thread);
    if (!own || !brings_on(record) || job.time_ns(process, record.begin) > at_ns) return;
    if (!last || record.begin >= last->begin) last = record;
  });
  if (!last || !kSpeaking.has(trace::operation_of(last->call))) return false;
  std::uint64_t inode = trace::operation_of(last->call) == Operation::kConnect
                            ? trace::payload_of<trace::payload::Connection>(*last).inode
                            : trace::payload_of<trace::payload::StreamIo>(*last).inode;
  return leads_outside(ordering::find_stream_ends(job), {job.processes[process].host, inode}, process);
}

Whereabouts find_whereabouts(const Job& job, const matching::Collectives& collectives, const Member& member,
                             std::int64_t waited_from_ns) {
  const Process& process = job.processes[member.process];
  Signs signs = find_signs(job, collectives, member);
  std::int64_t until_ns = std::min(process.last_ns, job.told_ns(member.process));
  if (process.life == model::Life::kStopped)
    return {"it is stopped by a signal", signs.last, signs.traced, true};
  if (signs.inside && until_ns - std::max(job.begin_ns(*signs.inside), waited_from_ns) > kStuck)
    return {fmt::format("it has been inside {} since {}", call_and_file(job, *signs.inside),
                        seconds(job.begin_ns(*signs.inside))),
            signs.inside, signs.traced, true};
  if (process.header().ended) {
    ProcessEnding ending = find_ending(job, member.process);
    return {fmt::format("{}it {}, at {}",
                        until_ns < process.last_ns
                            ? fmt::format("it was sent a signal to end at {}, and ", seconds(until_ns))
                            : "",
                        ending.sentence, seconds(process.last_ns)),
            ending.event ? ending.event : signs.last, signs.traced};
  }
  if (auto signal = find_signal(job, process))
    return {fmt::format("{} killed it after {}{}", text_of_signal(*signal), seconds(process.last_ns),
                        text_of_memory(process, *signal)),
            signs.last, signs.traced};
  if (!signs.last) return {"nothing is known of it", std::nullopt, std::nullopt};
  if (!process.doing.empty())
    return {
        fmt::format("it {}, its last recorded call is {}", process.doing, name_and_time(job, *signs.last)),
        signs.last, signs.traced};
  if (process.life == model::Life::kRuns)
    return {fmt::format("it runs, its last call is {}; what it does since is not recorded",
                        name_and_time(job, *signs.last)),
            signs.last, signs.traced};
  if (process.ended_ticks || process.life == model::Life::kGone)
    return {fmt::format(
                "its last call is {}; what it did then is not recorded, and it ended without an exit at {}",
                name_and_time(job, *signs.last), seconds(process.last_ns)),
            signs.last, signs.traced};
  return {
      fmt::format("its trace stops at {}, its last call is {}: it was killed, or does what is not recorded",
                  seconds(process.last_ns), call_and_file(job, *signs.last)),
      signs.last, signs.traced};
}

}  // namespace ddpscope::detectors
