// By host, pid and start time.
#include "collector/reading/endings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collector/reading/generations.h"

namespace ddpscope::reading {
namespace {

using model::Process;
using trace::Operation;

struct Endings {
  std::map<std::tuple<std::uint64_t, std::int32_t, std::uint64_t>, std::uint64_t> of_process;  // ticks
  std::map<std::tuple<std::uint64_t, std::string_view>, std::uint64_t> of_run;                 // by host, too

  // False: the file is not that of a run.
  bool take(const Process& process) {
    bool watched = false;
    std::uint64_t host = process.header().host_id;
    model::for_each(process.file, [&](model::EventPlace, const trace::Record& record) {
      Operation operation = trace::operation_of(static_cast<trace::Call>(record.call));
      if (operation == Operation::kJobWatched) {
        watched = true;
        of_run[{host, run_of(process)}] = record.end;
      } else if (operation == Operation::kProcessEnded) {
        auto ending = trace::payload_of<trace::payload::Ending>(record);
        of_process[{host, ending.pid, ending.start_time}] = record.begin;
      }
    });
    return watched;
  }

  std::uint64_t find(const Process& process) const {
    const trace::FileHeader& h = process.header();
    if (auto seen = of_process.find({h.host_id, h.pid, h.start_time}); seen != of_process.end())
      return seen->second;
    auto run = of_run.find({h.host_id, run_of(process)});
    return run == of_run.end() ? 0 : run->second;
  }
};

// `run` itself makes no call that would be recorded.
bool may_be_a_run(const Process& process) {
  return std::all_of(process.calls.begin(), process.calls.end(),
                     [](std::uint64_t count) { return count == 0; });
}

}  // namespace

void take_endings(std::vector<Process>& processes) {
  Endings endings;
  std::vector<Process> runs;  // kept until the end: what was taken refers to their strings
  std::vector<Process> others;
  for (Process& process : processes)
    (may_be_a_run(process) && endings.take(process) ? runs : others).push_back(std::move(process));
  processes = std::move(others);
  for (Process& process : processes)
    if (!process.header().ended) process.ended_ticks = endings.find(process);
}

}  // namespace ddpscope::reading
