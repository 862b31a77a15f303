// Reads /proc/PID/stat.
#include "collector/live/machine.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace ddpscope::live {

Seen see(const trace::FileHeader& header, std::uint64_t host_id) {
  if (header.host_id != host_id) return {};
  std::ifstream file("/proc/" + std::to_string(header.pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {model::Life::kGone};
  std::istringstream fields(text.substr(name_end + 1));
  char state = 0;
  fields >> state;
  std::string skipped;
  auto skip = [&](int count) {
    while (count-- > 0) fields >> skipped;
  };
  skip(10);  // to field 14 of proc(5)
  std::uint64_t user = 0, system = 0, start = 0;
  fields >> user >> system;
  skip(6);
  fields >> start;
  if (!fields || (header.start_time && start != header.start_time)) return {model::Life::kGone};
  if (state == 'Z' || state == 'X') return {model::Life::kGone};
  long hertz = ::sysconf(_SC_CLK_TCK);
  auto cpu = static_cast<std::int64_t>(user + system) * (1'000'000'000 / (hertz > 0 ? hertz : 100));
  return {state == 'T' || state == 't' ? model::Life::kStopped : model::Life::kRuns, cpu};
}

}  // namespace ddpscope::live
