// One clock line a host; between hosts the wall clock, then what passed between them.
#include "collector/alignment/align.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "collector/alignment/exchanges.h"
#include "collector/alignment/host_lines.h"

namespace ddpscope::alignment {
namespace {

using model::Host;
using model::Job;
using model::Process;

void set_clocks(Job& job) {
  for (std::uint32_t i = 0; i < job.hosts.size(); ++i) {
    std::vector<trace::ClockTuple> tuples;
    const trace::FileHeader* header = nullptr;
    for (const Process& process : job.processes) {
      if (process.host != i) continue;
      header = &process.header();
      const auto& own = process.file.clock_tuples();
      tuples.insert(tuples.end(), own.begin(), own.end());
    }
    if (header) job.hosts[i].clock = trace::ClockLine(header->clock, header->tick_hz, std::move(tuples));
  }
}

// The first and the last tick that a process is known to have lived.
struct Ticks {
  std::uint64_t first, last;
};

Ticks life_of(const Process& process) {
  std::uint64_t first = process.header().opened.ticks;
  std::uint64_t last =
      std::max({process.header().opened.ticks, process.header().latest.ticks, process.ended_ticks});
  if (!process.header().ended && !process.sightings.empty())
    last = std::max(last, process.sightings.back().last_ticks);
  for (const trace::RecordSpan& span : process.file.records())
    for (const trace::Record& record : span.records) {
      if (!record.call) continue;  // an unused slot
      first = std::min(first, record.begin);
      last = std::max({last, record.begin, record.end});
    }
  if (!process.header().ended)  // who ended lived no longer, whatever the clock of its device says
    for (const trace::DeviceSpan& span : process.file.device_work())
      for (const trace::DeviceWork& work : span.work)
        last = std::max(last, work.begin + static_cast<std::uint64_t>(work.duration));
  return {first, last};
}

// Each host's own time counts from one moment by its wall clock. Returns it, ns.
std::int64_t place_by_wall_clocks(Job& job, const std::vector<Ticks>& lives) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const trace::ClockLine& clock = job.hosts[job.processes[i].host].clock;
    start = std::min(start, model::limited(clock.realtime_ns(lives[i].first)));
  }
  for (Host& host : job.hosts)
    host.origin_ns = model::limited(start - (host.clock.realtime_ns(0) - host.clock.monotonic_ns(0)));
  return start;
}

void set_lives(Job& job, const std::vector<Ticks>& lives) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    job.processes[i].first_ns = job.time_ns(i, lives[i].first);
    job.processes[i].last_ns = job.time_ns(i, lives[i].last);
  }
}

// The job's time is 0 at the first moment of its first process. Returns by how much it was moved.
std::int64_t begin_at_first(Job& job) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const Process& process : job.processes) first = std::min(first, process.first_ns);
  if (job.processes.empty()) return 0;
  for (Host& host : job.hosts) {
    if (host.pieces.empty()) host.origin_ns = model::limited(host.origin_ns + first);
    for (model::ClockPiece& piece : host.pieces) piece.job_ns = model::limited(piece.job_ns - first);
  }
  return first;
}

// Processes of the attempt that is analysed are on it.
std::vector<std::uint32_t> hosts_in_use(const Job& job) {
  std::set<std::uint32_t> used;
  for (const Process& process : job.processes) used.insert(process.host);
  return {used.begin(), used.end()};
}

std::int64_t largest_error(const Job& job, const std::vector<std::uint32_t>& hosts) {
  std::int64_t largest = 0;
  std::vector<std::int64_t> errors;
  for (std::uint32_t host : hosts) {
    if (job.hosts[host].group != job.hosts[hosts.front()].group) return model::kUnaligned;
    errors.push_back(job.hosts[host].clock_error_ns);
  }
  std::sort(errors.rbegin(), errors.rend());
  for (std::size_t i = 0; i < errors.size() && i < 2; ++i) largest += errors[i];
  return largest;
}

// As long as nothing is known of it.
void set_apart(Job& job) {
  for (std::uint32_t i = 0; i < job.hosts.size(); ++i) job.hosts[i].group = i;
  job.clock_error_ns = model::kUnaligned;
}

}  // namespace

void align(Job& job) {
  set_clocks(job);
  std::vector<Ticks> lives;
  for (const Process& process : job.processes) lives.push_back(life_of(process));
  std::int64_t start = place_by_wall_clocks(job, lives);
  set_lives(job, lives);
  std::vector<std::uint32_t> hosts = hosts_in_use(job);
  if (hosts.size() > 1) {
    set_apart(job);
    align_by_exchanges(job, find_exchanges(job));
    job.clock_error_ns = largest_error(job, hosts);
    set_lives(job, lives);
    start = model::limited(start + begin_at_first(job));
    set_lives(job, lives);
  }
  for (const Process& process : job.processes) job.duration_ns = std::max(job.duration_ns, process.last_ns);
  job.start_unix_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(start, 0));
}

}  // namespace ddpscope::alignment
