// The open call of the thread that issues collectives, or its last one.
#include "collector/live/ranks_now.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/model/enclosing_calls.h"
#include "collector/model/process_name.h"

namespace ddpscope::live {
namespace {

using model::EventPlace;
using model::EventRef;
using model::Job;
using model::Life;
using model::Process;
using trace::Operation;
using trace::Record;

constexpr std::int64_t kLong = 2'000'000'000;  // in one call: worth a line

std::string name_of(const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  return info ? info->symbol : "a call";
}

struct LastCalls {
  std::optional<EventRef> inside, last, traced;
  Record open{}, latest{}, latest_traced{};
};

// The innermost open call is the one that began last.
LastCalls find_last_calls(const Job& job, std::uint32_t process, const std::set<std::uint16_t>& threads) {
  LastCalls found;
  model::for_each(job.processes[process].file, [&](EventPlace place, const Record& record) {
    if (!threads.count(record.thread) || trace::operation_of(record.call) == Operation::kSetting) return;
    EventRef event{process, place};
    auto keep = [&](std::optional<EventRef>& kept, Record& known) {
      if (kept && record.begin < known.begin) return;
      kept = event;
      known = record;
    };
    keep(found.last, found.latest);
    if (record.stack) keep(found.traced, found.latest_traced);
    if (record.end == 0 && trace::operation_of(record.call) != Operation::kExit)
      keep(found.inside, found.open);
  });
  // What a thread did inside of it says more.
  if (found.inside && model::encloses_others(found.open) && found.last->place != found.inside->place)
    found.inside.reset();
  return found;
}

std::string ago(std::int64_t ns) { return detectors::seconds(std::max<std::int64_t>(ns, 0)); }

std::string how_it_ended(const Job& job, const Process& process) {
  if (process.header().ended) return fmt::format("ended with exit code {}", process.header().exit_code);
  if (auto signal = detectors::find_signal(job, process))
    return fmt::format("was ended by {}", detectors::text_of_signal(*signal));
  return "is gone, without an exit of its own";
}

void tell_calls(const Job& job, std::uint32_t process, const LastCalls& calls, RankNow& now) {
  std::int64_t at = job.processes[process].last_ns;
  if (job.processes[process].life == Life::kStopped) now.doing = "is stopped by a signal; ";
  if (calls.inside)
    now.doing += fmt::format("inside {} for {}", detectors::call_and_file(job, *calls.inside),
                             ago(at - job.begin_ns(process, calls.open)));
  else if (calls.last)
    now.doing += fmt::format("last call {}, {} ago", detectors::call_and_file(job, *calls.last),
                             ago(at - job.end_ns(process, calls.latest)));
  else
    now.doing += "no call recorded yet";
  if (!calls.inside || model::encloses_others(calls.open)) now.now = job.processes[process].doing;
  if (!calls.traced) return;
  bool of_this_call =
      calls.inside ? calls.inside->place == calls.traced->place : calls.last->place == calls.traced->place;
  now.place = detectors::program_place(job, *calls.traced);
  if (!of_this_call && !now.place.empty()) now.place = "or after " + now.place;
}

void tell_wait(const Job& job, const Wait& wait, const detectors::CodePlaces& places, RankNow& now) {
  Record record = job.record(*wait.event);
  std::uint32_t process = wait.event->process;
  now.doing = fmt::format("waits in {} for {} for the {}", name_of(record),
                          ago(job.processes[process].last_ns - job.begin_ns(process, record)),
                          matching::to_text(wait.call->signature));
  now.place = places.of(record.stack ? *wait.event : wait.call->event);
}

void add_workers(const Job& job, std::uint32_t parent, RankNow& now) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const Process& worker = job.processes[i];
    if (worker.parent != static_cast<std::int32_t>(parent) || worker.role != model::Role::kWorker) continue;
    if (worker.header().ended || worker.ended_ticks || worker.life == Life::kGone) continue;
    LastCalls calls = find_last_calls(job, i, {1});
    bool stopped = worker.life == Life::kStopped;
    std::int64_t since = calls.inside ? worker.last_ns - job.begin_ns(i, calls.open) : std::int64_t{0};
    if (!stopped && since < kLong) continue;
    std::string text = fmt::format("worker {} ", worker.header().pid);
    text +=
        stopped ? "is stopped by a signal" : fmt::format("inside {} for {}", name_of(calls.open), ago(since));
    bool of_this_call = calls.traced && calls.inside && calls.inside->place == calls.traced->place;
    std::string place = calls.traced ? detectors::program_place(job, *calls.traced) : "";
    text += detectors::at(of_this_call || place.empty() ? place : "or after " + place);
    now.workers.push_back(std::move(text));
  }
}

}  // namespace

std::optional<Asking> find_asking(const Job& job, std::uint32_t process,
                                  const std::set<std::uint16_t>& threads, std::int64_t acted_ns) {
  constexpr trace::OperationSet kQuestions{Operation::kStreamQuery, Operation::kEventQuery,
                                           Operation::kCommunicatorQuery};
  LastCalls calls = find_last_calls(job, process, threads);
  if (!calls.last || !acted_ns || !kQuestions.has(trace::operation_of(calls.latest.call))) return {};
  std::int64_t asked = job.end_ns(process, calls.latest) - acted_ns;
  if (asked < kLong) return {};
  return Asking{name_of(calls.latest), asked};
}

std::int32_t find_tid(const Process& process, const std::set<std::uint16_t>& threads) {
  std::int32_t tid = process.header().pid;
  if (threads.size() != 1) return tid;
  model::for_each(process.file, {Operation::kThread}, [&](EventPlace, const Record& record) {
    if (record.thread == *threads.begin())
      tid = static_cast<std::int32_t>(trace::payload_of<trace::payload::Thread>(record).tid);
  });
  return tid;
}

std::vector<RankNow> find_ranks_now(const Job& job, const std::vector<std::set<std::uint16_t>>& threads,
                                    const Waits& waits, const detectors::CodePlaces& places) {
  std::vector<RankNow> ranks;
  for (std::int32_t rank : job.ranks()) {
    std::int32_t index = job.process_of_rank(rank);
    if (index < 0) continue;
    auto i = static_cast<std::uint32_t>(index);
    const Process& process = job.processes[i];
    RankNow now;
    now.rank = rank;
    now.process = model::process_name(job, process);
    auto wait = waits.find(rank);
    if (wait != waits.end()) now.condition = wait->second.condition;
    if (process.header().ended || process.ended_ticks || process.life == Life::kGone) {
      now.condition = Condition::kEnded;
      now.doing = how_it_ended(job, process);
    } else if (wait != waits.end() && wait->second.event && process.life != Life::kStopped) {
      tell_wait(job, wait->second, places, now);
    } else {
      tell_calls(job, i, find_last_calls(job, i, threads[i]), now);
      if (wait != waits.end()) add_workers(job, i, now);
    }
    ranks.push_back(std::move(now));
  }
  return ranks;
}

}  // namespace ddpscope::live
