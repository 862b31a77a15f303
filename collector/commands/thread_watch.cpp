// Writes a record at the second look that finds a thread in one place, and prolongs it at each further one.
#include "collector/commands/thread_watch.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "collector/commands/own_trace.h"
#include "collector/commands/watch_thread.h"
#include "collector/live/machine.h"
#include "trace/write/identity.h"
#include "trace/write/process_stat.h"

namespace ddpscope::commands {
namespace {

using Duration = std::chrono::nanoseconds;

constexpr Duration kMost = std::chrono::seconds(10);
constexpr int kShare = 100;              // of the time between two looks one may compute
constexpr std::size_t kMostPlaces = 64;  // kept of a process

// As the record has it; nothing if the machine does not say.
std::optional<std::string> place_of(std::int32_t pid, char state) {
  if (state == 'T' || state == 't') return live::kStoppedPlace;
  live::Inside inside = live::look_inside(pid, pid);
  if (inside.doing == live::Doing::kUnknown) return std::nullopt;
  return live::to_place(inside);
}

}  // namespace

ThreadWatch::ThreadWatch(std::filesystem::path folder)
    : folder_(std::move(folder)), clock_(trace::host_clock()) {}

ThreadWatch::~ThreadWatch() { stop(); }

void ThreadWatch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void ThreadWatch::meet(std::int32_t pid, std::uint64_t start_time) {
  {
    std::lock_guard lock(mutex_);
    met_.push_back({pid, start_time});
  }
  if (thread_.joinable()) return;
  thread_ = start_watch_thread([this](const std::stop_token& stop) { watch(stop); });
}

void ThreadWatch::watch(const std::stop_token& stop) {
  Duration pause = pause_after({}, kShare, kMost);
  while (!failed_ && sleep_for(pause, stop)) {
    {
      std::lock_guard lock(mutex_);
      std::move(met_.begin(), met_.end(), std::back_inserter(watched_));
      met_.clear();
    }
    Duration before = computed();
    std::uint64_t now = trace::read_ticks(clock_.kind);
    std::erase_if(watched_, [&](Watched& process) { return !look_at(process, now); });
    if (file_) file_->mark_clock();
    pause = pause_after(computed() - before, kShare, kMost);
  }
}

// False: it has ended.
bool ThreadWatch::look_at(Watched& process, std::uint64_t now) {
  trace::ProcessStat stat(process.pid);
  char state = stat.state();
  bool another = stat.field(trace::ProcessStat::kStartTime) != process.start_time;
  if (!state || another || stat.is_dead()) return false;
  look_at_waits(process, now);
  auto place = place_of(process.pid, state);
  if (!place) {
    process.first = {};
    return true;
  }
  live::Activity activity = live::activity_of(process.pid);
  Look look{now, std::chrono::steady_clock::now(), activity.cpu_ns,
            live::moved_bytes(process.pid, process.pid)};
  bool works = activity.runs;
  if (process.first.ticks == 0 || process.inside != *place) {
    process.inside = std::move(*place);
    begin(process, look);
  } else {
    bool computes = (look.cpu_ns - process.last.cpu_ns) * 2 > Duration(look.at - process.last.at).count();
    if (process.looks > 1 && computes != process.computes) {
      begin(process, Look(process.last));
      process.looks = 1;  // that one
    }
    process.computes = computes;
    works = works || look.moved >= process.last.moved + live::kLeastMoved;
  }
  process.last = look;
  ++process.looks;
  process.running += works ? 1 : 0;
  if (process.looks > 1) write(process, activity.cpu_ns, now);
  return true;
}

// What began, or ceased, to compute in one place is told apart: one of its threads may go round without a
// pause once the job has come to its end.
void ThreadWatch::begin(Watched& process, const Look& look) {
  process.first = look;
  process.looks = process.running = 0;
  process.now = {};
}

void ThreadWatch::write(Watched& process, std::int64_t cpu_ns, std::uint64_t now) {
  if (!has_file()) return;
  std::int64_t used_ns =
      std::max<std::int64_t>(cpu_ns - process.first.cpu_ns, 0);  // what a child used is lost with it
  trace::payload::Sighting sighting{process.start_time, static_cast<std::uint64_t>(used_ns),
                                    process.pid,        0,
                                    process.looks,      process.running};
  if (process.now) {
    sighting.inside = process.now.payload<trace::payload::Sighting>().inside;
    process.now = writer_.resume(*file_, process.now);
  } else {
    if (!process.inside.empty()) sighting.inside = writer_.intern(*file_, process.inside.c_str());
    if (process.records.size() < kMostPlaces)
      process.now = writer_.open<trace::Call::thread_seen>(*file_, sighting, process.first.ticks);
    else
      process.now = writer_.resume(*file_, process.records[process.next]);
    if (!process.now) return;
    if (process.records.size() < kMostPlaces) process.records.emplace_back();
    process.records[process.next] = process.now;
    process.next = (process.next + 1) % kMostPlaces;
    process.now.record->begin = process.first.ticks;
  }
  if (!process.now) return;
  process.now.payload<trace::payload::Sighting>() = sighting;
  trace::ThreadWriter::close(*file_, process.now, now);
}

void ThreadWatch::look_at_waits(Watched& process, std::uint64_t now) {
  for (const auto& [tid, waited] : live::processor_waits(process.pid))
    process.waited[tid] = std::max(process.waited[tid], waited);
  if (process.waited.empty()) return;
  std::uint64_t waited = 0;
  for (const auto& [tid, ns] : process.waited) waited += ns;
  if (process.waits_looks++ == 0) {
    process.waited_before = waited;
    process.waits_from = now;
    return;
  }
  if (!has_file()) return;
  trace::payload::ProcessorWait wait{process.start_time, waited - process.waited_before, process.pid,
                                     process.waits_looks};
  process.waits = process.waits ? writer_.resume(*file_, process.waits)
                                : writer_.open<trace::Call::processor_wait>(*file_, wait, process.waits_from);
  if (!process.waits) return;
  process.waits.payload<trace::payload::ProcessorWait>() = wait;
  trace::ThreadWriter::close(*file_, process.waits, now);
}

bool ThreadWatch::has_file() {
  if (!file_ && !failed_) file_ = open_own_trace(folder_, clock_, writer_);
  failed_ = !file_;
  return !failed_;
}

}  // namespace ddpscope::commands
