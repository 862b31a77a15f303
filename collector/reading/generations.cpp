// Runs in order of their start.
#include "collector/reading/generations.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

namespace ddpscope::reading {
namespace {

using model::Process;

constexpr std::int32_t kMostAttempts = 1'000'000'000;  // room for more runs than a folder can hold

struct Run {
  std::set<std::int32_t> ranks;
  std::uint64_t first_ns = std::numeric_limits<std::uint64_t>::max(), last_ns = 0;  // wall clock
  std::int32_t last_attempt = 0;                                                    // counted within the run
  std::int32_t attempts_before = 0;
};

bool repeats(const Run& later, const Run& earlier) {
  return earlier.last_ns <= later.first_ns &&
         std::any_of(later.ranks.begin(), later.ranks.end(),
                     [&](std::int32_t rank) { return earlier.ranks.count(rank) > 0; });
}

std::map<std::string_view, Run> find_runs(const std::vector<Process>& processes) {
  std::map<std::string_view, Run> runs;
  for (const Process& process : processes) {
    if (run_of(process).empty()) continue;
    Run& run = runs[run_of(process)];
    if (process.rank >= 0) run.ranks.insert(process.rank);
    run.first_ns = std::min(run.first_ns, process.header().opened.realtime_ns);
    run.last_ns = std::max(run.last_ns, process.header().latest.realtime_ns);
    run.last_attempt = std::max(run.last_attempt, process.attempt);
  }
  return runs;
}

}  // namespace

std::string_view run_of(const Process& process) {
  auto found = process.environment.find("DDPSCOPE_RUN");
  return found == process.environment.end() ? std::string_view{} : found->second;
}

void number_attempts_of_runs(std::vector<Process>& processes) {
  std::map<std::string_view, Run> runs = find_runs(processes);
  std::vector<Run*> in_order;
  for (auto& [name, run] : runs) in_order.push_back(&run);
  std::sort(in_order.begin(), in_order.end(),
            [](const Run* a, const Run* b) { return a->first_ns < b->first_ns; });
  for (std::size_t later = 0; later < in_order.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Run& before = *in_order[earlier];
      if (!repeats(*in_order[later], before)) continue;
      std::int32_t passed = std::min(before.attempts_before + before.last_attempt + 1, kMostAttempts);
      in_order[later]->attempts_before = std::max(in_order[later]->attempts_before, passed);
    }
  for (Process& process : processes)
    if (!run_of(process).empty()) process.attempt += runs[run_of(process)].attempts_before;
}

}  // namespace ddpscope::reading
