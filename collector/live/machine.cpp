// Asks /proc.
#include "collector/live/machine.h"

#include <unistd.h>

#include "trace/write/process_stat.h"

namespace ddpscope::live {

Seen see(const trace::FileHeader& header, std::uint64_t host_id) {
  using trace::ProcessStat;
  if (header.host_id != host_id) return {};
  ProcessStat stat(header.pid);
  char state = stat.state();
  bool another = header.start_time && stat.field(ProcessStat::kStartTime) != header.start_time;
  if (!state || another || state == 'Z' || state == 'X') return {model::Life::kGone};
  long hertz = ::sysconf(_SC_CLK_TCK);
  auto ticks = stat.field(ProcessStat::kUserTime) + stat.field(ProcessStat::kSystemTime);
  auto cpu = static_cast<std::int64_t>(ticks) * (1'000'000'000 / (hertz > 0 ? hertz : 100));
  return {state == 'T' || state == 't' ? model::Life::kStopped : model::Life::kRuns, cpu};
}

}  // namespace ddpscope::live
