// By host, pid and start time.
#include "collector/reading/endings.h"

#include <signal.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "collector/model/makers.h"
#include "collector/reading/generations.h"

namespace ddpscope::reading {
namespace {

using model::Process;
using trace::Operation;

// Those that end a program by default and that are sent for just that.
bool ends_a_program(std::int32_t signal) {
  constexpr std::int32_t kSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGTERM, SIGXCPU};
  return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}

using Ticks = std::vector<std::uint64_t>;

// The first of the signals that it did not go on training after: one that a handler only notes (a job that is
// to be preempted) ends nothing. 0 if there is none.
std::uint64_t first_that_counts(const Process& process, Ticks told) {
  if (told.empty()) return 0;
  constexpr std::int64_t kWentOn = 1'000'000'000;
  constexpr auto kTraining = trace::OperationSet::range(Operation::kAllReduce, Operation::kReceive);
  const trace::FileHeader& h = process.header();
  trace::ClockLine clock(h.clock, h.tick_hz, {h.opened, h.latest});
  std::int64_t trained_ns = std::numeric_limits<std::int64_t>::min();
  model::for_each(process.file, kTraining, [&](model::EventPlace, const trace::Record& record) {
    trained_ns = std::max(trained_ns, clock.monotonic_ns(record.begin));
  });
  std::sort(told.begin(), told.end());
  auto counts = [&](std::uint64_t ticks) { return trained_ns < clock.monotonic_ns(ticks) + kWentOn; };
  auto first = std::find_if(told.begin(), told.end(), counts);
  return first == told.end() ? 0 : *first;
}

struct Seen {
  std::uint64_t ticks = 0;
  std::int32_t status = 0;
};

using ProcessId = std::tuple<std::uint64_t, std::int32_t, std::uint64_t>;  // host, pid, start time

struct Endings {
  std::map<ProcessId, Seen> of_process;
  std::map<ProcessId, std::uint32_t> memory_kills;
  std::map<std::tuple<std::uint64_t, std::string_view>, std::uint64_t> of_run;  // by host, too
  std::map<std::tuple<std::uint64_t, std::string_view>, Ticks> told_by_run;
  std::set<ProcessId> outlived;  // the run that watched them
  std::map<ProcessId, std::vector<model::Sighting>> sightings;
  std::map<ProcessId, model::ProcessorWait> waits;

  // False: the file is not that of a run.
  bool take(const Process& process) {
    bool watched = false;
    std::uint64_t host = process.header().host_id;
    constexpr trace::OperationSet kTold{Operation::kJobWatched,   Operation::kJobTold,
                                        Operation::kProcessEnded, Operation::kMemoryRanOut,
                                        Operation::kThreadSeen,   Operation::kProcessOutlived,
                                        Operation::kProcessorWait};
    model::for_each(process.file, kTold, [&](model::EventPlace, const trace::Record& record) {
      Operation operation = trace::operation_of(record.call);
      watched = true;
      if (operation == Operation::kJobWatched) {
        of_run[{host, run_of(process)}] = record.end;
      } else if (operation == Operation::kJobTold) {
        if (ends_a_program(trace::payload_of<trace::payload::Ending>(record).status))
          told_by_run[{host, run_of(process)}].push_back(record.begin);
      } else if (operation == Operation::kProcessEnded) {
        auto ending = trace::payload_of<trace::payload::Ending>(record);
        of_process[{host, ending.pid, ending.start_time}] = {record.begin, ending.status};
      } else if (operation == Operation::kProcessOutlived) {
        auto ending = trace::payload_of<trace::payload::Ending>(record);
        outlived.insert({host, ending.pid, ending.start_time});
      } else if (operation == Operation::kMemoryRanOut) {
        auto ending = trace::payload_of<trace::payload::OutOfMemory>(record);
        memory_kills[{host, ending.pid, ending.start_time}] = ending.killed;
      } else if (operation == Operation::kThreadSeen) {
        auto seen = trace::payload_of<trace::payload::Sighting>(record);
        sightings[{host, seen.pid, seen.start_time}].push_back(
            {record.begin, std::max(record.begin, record.end), std::string(process.file.string(seen.inside)),
             seen.cpu_ns, seen.looks, seen.running});
      } else if (operation == Operation::kProcessorWait) {
        auto wait = trace::payload_of<trace::payload::ProcessorWait>(record);
        waits[{host, wait.pid, wait.start_time}] = {record.begin, record.end, wait.waited_ns};
      }
    });
    return watched;
  }

  Seen find(const Process& process) const {
    const trace::FileHeader& h = process.header();
    if (auto seen = of_process.find({h.host_id, h.pid, h.start_time}); seen != of_process.end())
      return seen->second;
    if (outlived.contains({h.host_id, h.pid, h.start_time})) return {};
    auto run = of_run.find({h.host_id, run_of(process)});
    return {run == of_run.end() ? 0 : run->second};
  }

  void tell_sightings(Process& process) const {
    const trace::FileHeader& h = process.header();
    if (auto wait = waits.find({h.host_id, h.pid, h.start_time}); wait != waits.end())
      process.processor_wait = wait->second;
    auto seen = sightings.find({h.host_id, h.pid, h.start_time});
    if (seen == sightings.end()) return;
    process.sightings = seen->second;  // one by exec has those of the program before it, too
    std::sort(
        process.sightings.begin(), process.sightings.end(),
        [](const model::Sighting& a, const model::Sighting& b) { return a.first_ticks < b.first_ticks; });
  }
};

// Who of the job sent whom a signal to end. To a group it counts for all of the host but the sender.
struct Kills {
  std::map<std::tuple<std::uint64_t, std::int32_t>, Ticks> of_process;            // by host and pid
  std::vector<std::tuple<std::uint64_t, std::int32_t, std::uint64_t>> of_groups;  // host, sender, ticks

  void take(const Process& process) {
    const trace::FileHeader& h = process.header();
    model::for_each(process.file, {Operation::kKill}, [&](model::EventPlace, const trace::Record& record) {
      auto sent = trace::payload_of<trace::payload::Process>(record);
      if (!ends_a_program(sent.status) || sent.pid == h.pid) return;
      if (sent.pid > 0)
        of_process[{h.host_id, sent.pid}].push_back(record.begin);
      else
        of_groups.emplace_back(h.host_id, h.pid, record.begin);
    });
  }

  void add_to(Ticks& told, const Process& process) const {
    const trace::FileHeader& h = process.header();
    if (auto sent = of_process.find({h.host_id, h.pid}); sent != of_process.end())
      told.insert(told.end(), sent->second.begin(), sent->second.end());
    for (const auto& [host, sender, ticks] : of_groups)
      if (host == h.host_id && sender != h.pid) told.push_back(ticks);
  }
};

// `run` itself makes no call that would be recorded.
bool may_be_a_run(const Process& process) {
  return std::all_of(process.calls.begin(), process.calls.end(),
                     [](std::uint64_t count) { return count == 0; });
}

}  // namespace

Watched take_endings(std::vector<Process>& processes) {
  Endings endings;
  std::vector<Process> runs;  // kept until the end: what was taken refers to their strings
  std::vector<Process> others;
  for (Process& process : processes)
    (may_be_a_run(process) && endings.take(process) ? runs : others).push_back(std::move(process));
  processes = std::move(others);
  Kills kills;
  for (const Process& process : processes) kills.take(process);
  for (Process& process : processes) {
    const trace::FileHeader& h = process.header();
    if (!h.ended) {
      Seen seen = endings.find(process);
      process.ended_ticks = seen.ticks;
      process.ended_status = seen.status;
      if (auto killed = endings.memory_kills.find({h.host_id, h.pid, h.start_time});
          killed != endings.memory_kills.end())
        process.memory_kills = killed->second;
    }
    endings.tell_sightings(process);
    Ticks told;
    if (auto of_run = endings.told_by_run.find({h.host_id, run_of(process)});
        of_run != endings.told_by_run.end())
      told = of_run->second;
    kills.add_to(told, process);
    process.told_ticks = first_that_counts(process, std::move(told));
  }
  Watched watched;
  for (const auto& [run, ticks] : endings.of_run)
    watched.runs.emplace(std::get<0>(run), std::string(std::get<1>(run)));
  for (const auto& [process, seen] : endings.of_process) watched.processes.insert(process);
  // Several runs into one folder see each other's files, too: these are not missing.
  for (const Process& run : runs) {
    const trace::FileHeader& h = run.header();
    watched.processes.erase({h.host_id, h.pid, h.start_time});
  }
  return watched;
}

void tell_missing_makers(const Watched& watched, std::vector<Process>& processes) {
  for (Process& process : processes) {
    if (process.parent >= 0) continue;
    const trace::FileHeader& h = process.header();
    bool told = watched.runs.contains({h.host_id, std::string(run_of(process))});
    bool recorded = watched.processes.contains({h.host_id, h.parent_pid, h.parent_start_time});
    process.parent = recorded ? model::kMakerMissing : told ? model::kMakerNotRecorded : model::kMakerUnknown;
  }
}

}  // namespace ddpscope::reading
