// One clock line a host, the wall clock between hosts.
#include "collector/alignment/align.h"

#include <algorithm>
#include <limits>

namespace ddpscope::alignment {
namespace {

using model::Host;
using model::Job;
using model::Process;

// Without an exchange of messages nothing bounds the wall clocks of two hosts better than what NTP is
// commonly trusted for.
constexpr std::int64_t kWallClockError = 10'000'000;

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

// The first and the last tick that the process is known to have lived.
void set_extent(const Process& process, std::uint64_t& first, std::uint64_t& last) {
  first = process.header().opened.ticks;
  last = std::max({process.header().opened.ticks, process.header().latest.ticks, process.ended_ticks});
  for (const trace::RecordSpan& span : process.file.records())
    for (const trace::Record& record : span.records) {
      if (!record.call) continue;  // an unused slot
      first = std::min(first, record.begin);
      last = std::max({last, record.begin, record.end});
    }
}

}  // namespace

void align(Job& job) {
  set_clocks(job);
  std::int64_t start = std::numeric_limits<std::int64_t>::max();  // wall clock, ns
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents(job.processes.size());
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    set_extent(process, extents[i].first, extents[i].second);
    start = std::min(start, model::limited(job.hosts[process.host].clock.realtime_ns(extents[i].first)));
  }
  for (Host& host : job.hosts)
    host.origin_ns = model::limited(start - (host.clock.realtime_ns(0) - host.clock.monotonic_ns(0)));
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    Process& process = job.processes[i];
    process.first_ns = job.time_ns(i, extents[i].first);
    process.last_ns = job.time_ns(i, extents[i].second);
    job.duration_ns = std::max(job.duration_ns, process.last_ns);
  }
  job.start_unix_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(start, 0));
  job.clock_error_ns = job.hosts.size() > 1 ? kWallClockError : 0;
}

}  // namespace ddpscope::alignment
