// The last signs of life of a process.
#include "collector/detectors/whereabouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/model/enclosing_calls.h"

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

constexpr const char* kTold = "told to end";  // with the job: no doing of its own
constexpr const char* kGone = "gone";

struct Signs {
  std::optional<EventRef> inside;  // the call that has not returned: none that encloses others
  std::optional<EventRef> last;    // likewise
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
                            if (record.stack) signs.traced = event;
                            if (record.end == 0 && model::encloses_others(record)) return;
                            signs.last = event;
                            if (record.end == 0 && operation != Operation::kExit) signs.inside = event;
                          });
  return signs;
}

// "it was seen inside clock_nanosleep from 6.500 s to 20.600 s, until ": all may have been killed for that.
std::string until_killed(const Job& job, std::uint32_t process, std::int64_t waited_from_ns) {
  const model::Sighting* last = nullptr;
  for (const model::Sighting& sighting : job.processes[process].sightings) last = &sighting;
  if (!last || last->inside.empty()) return "";
  std::int64_t from_ns = std::max(job.time_ns(process, last->first_ticks), waited_from_ns);
  std::int64_t to_ns = job.time_ns(process, last->last_ticks);
  if (to_ns - from_ns < kStuck) return "";
  return fmt::format("it was seen inside {} from {} to {}, until ", last->inside, seconds(from_ns),
                     seconds(to_ns));
}

// Several calls of a kind one after the other may be one record. Of reads, or writes, of a file its begin
// says nothing of the latest.
bool is_run(const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  return info && model::folded_calls(record, *info) > 1;
}

bool is_run_of_transfers(const Record& record) {
  constexpr trace::OperationSet kTransfers{Operation::kRead, Operation::kWrite};
  return kTransfers.has(trace::operation_of(record.call)) && is_run(record);
}

// A record of many calls began long before the last of them.
std::string name_and_time(const Job& job, EventRef event) {
  const Record& record = job.record(event);
  bool many = record.end && is_run(record);
  return fmt::format("{} at {}", call_and_file(job, event),
                     seconds(many ? job.end_ns(event) : job.begin_ns(event)));
}

// Of a call without a stack the place of the last one that has one.
std::string name_and_place(const Job& job, EventRef event, const std::optional<EventRef>& traced) {
  const trace::CallInfo* info = trace::find_call(job.record(event).call);
  auto placed = job.record(event).stack ? event : traced;
  return fmt::format("{} {}", info ? info->symbol : "a call",
                     placed ? findings::key_of_frame(program_place(job, *placed)) : "");
}

// By which signal others ended it is not always known, and where that met it is chance.
std::string key_of_signal(const Job& job, std::uint32_t process, int signal) {
  if (is_for_ending_jobs(signal)) return kTold;
  if (!is_of_its_own(signal)) return kGone;
  return fmt::format("{} after {}", text_of_signal(signal),
                     findings::key_of_frame(place_of_last_call(job, process)));
}

// The call that the main thread of a process is inside of for long at that moment.
std::optional<EventRef> find_inside(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  std::optional<EventRef> inside;
  model::for_each(job.processes[process].file, [&](model::EventPlace place, const Record& record) {
    bool open = record.end == 0 || job.time_ns(process, record.end) > at_ns;
    if (record.thread == model::kMainThread && record.stack && open &&
        job.time_ns(process, record.begin) + kStuck < at_ns)
      inside = EventRef{process, place};
  });
  return inside;
}

// Of the last call of the main thread that has a stack.
std::string last_place(const Job& job, std::uint32_t process, std::int64_t at_ns) {
  std::optional<EventRef> last;
  model::for_each_in_time(job.processes[process].file, [&](model::EventPlace place, const Record& record) {
    if (record.thread == model::kMainThread && record.stack && job.time_ns(process, record.begin) <= at_ns)
      last = EventRef{process, place};
  });
  return last ? program_place(job, *last) : "";
}

}  // namespace

void add_evidence_of_workers(const Job& job, std::uint32_t process, std::int32_t rank, std::int64_t at_ns,
                             findings::Finding& finding) {
  constexpr int kMostShown = 2;
  std::string own = last_place(job, process, at_ns);
  int shown = 0;
  for (std::uint32_t i = 0; i < job.processes.size() && shown < kMostShown; ++i) {
    if (job.processes[i].role != model::Role::kWorker ||
        job.processes[i].parent != static_cast<std::int32_t>(process))
      continue;
    auto inside = find_inside(job, i, at_ns);
    std::string place = inside ? program_place(job, *inside) : "";
    if (place.empty() || place == own) continue;
    finding.evidence.push_back(
        evidence_of(job, *inside,
                    fmt::format("its worker {} has been inside {} since {}", job.processes[i].header().pid,
                                call_and_file(job, *inside), seconds(job.begin_ns(*inside)))));
    finding.evidence.back().rank = rank;
    ++shown;
  }
}

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
  std::uint32_t process = found.event->process;
  if (!job.processes[process].header().ended)
    add_evidence_of_workers(job, process, rank, job.processes[process].last_ns, finding);
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

bool brings_on(const Record& record) {
  Operation operation = trace::operation_of(record.call);
  bool in_vain = operation == Operation::kWaitChild && record.end &&
                 trace::payload_of<trace::payload::Process>(record).pid == 0;
  return !in_vain && !kNoProgress.has(operation);
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

Whereabouts find_whereabouts(const Job& job, const matching::Collectives& collectives, const Member& member,
                             std::int64_t waited_from_ns) {
  const Process& process = job.processes[member.process];
  Signs signs = find_signs(job, collectives, member);
  std::int64_t until_ns = std::min(process.last_ns, job.told_ns(member.process));
  bool told = until_ns < process.last_ns;
  auto found = [&](std::string sentence, std::optional<EventRef> event, std::string key) {
    return Whereabouts{std::move(sentence), event, signs.traced, false, std::move(key)};
  };
  if (process.life == model::Life::kStopped)
    return {"it is stopped by a signal", signs.last, signs.traced, true, "stopped"};
  if (signs.inside && until_ns - std::max(job.begin_ns(*signs.inside), waited_from_ns) > kStuck)
    return {fmt::format("it has been inside {} since {}", call_and_file(job, *signs.inside),
                        seconds(job.begin_ns(*signs.inside))),
            signs.inside, signs.traced, true, "inside " + name_and_place(job, *signs.inside, signs.traced)};
  if (process.header().ended) {
    ProcessEnding ending = find_ending(job, member.process);
    return found(
        fmt::format("{}it {}, at {}",
                    told ? fmt::format("it was sent a signal to end at {}, and ", seconds(until_ns)) : "",
                    ending.sentence, seconds(process.last_ns)),
        ending.event ? ending.event : signs.last, told ? kTold : ending.key);
  }
  if (auto signal = find_signal(job, process))
    return found(
        fmt::format("{}{} killed it after {}{}", until_killed(job, member.process, waited_from_ns),
                    text_of_signal(*signal), seconds(process.last_ns), text_of_memory(process, *signal)),
        signs.last, key_of_signal(job, member.process, *signal));
  if (!signs.last) return {"nothing is known of it", std::nullopt, std::nullopt, false, "unknown"};
  if (!process.doing.empty())
    return found(
        fmt::format("it {}, its last recorded call is {}", process.doing, name_and_time(job, *signs.last)),
        signs.last, "after " + name_and_place(job, *signs.last, signs.traced));
  if (process.life == model::Life::kRuns)
    return found(fmt::format("it runs, its last call is {}; what it does since is not recorded",
                             name_and_time(job, *signs.last)),
                 signs.last, "after " + name_and_place(job, *signs.last, signs.traced));
  if (process.ended_ticks || process.life == model::Life::kGone)
    return found(
        fmt::format(
            "its last call is {}; what it did then is not recorded, and it ended without an exit at {}",
            name_and_time(job, *signs.last), seconds(process.last_ns)),
        signs.last, kGone);
  return found(
      fmt::format("its trace stops at {}, its last call is {}: it was killed, or does what is not recorded",
                  seconds(process.last_ns), call_and_file(job, *signs.last)),
      signs.last, kGone);
}

}  // namespace ddpscope::detectors
