// Runs in order of their start.
#include "collector/reading/generations.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "collector/reading/announced_rank.h"
#include "collector/reading/census.h"

namespace ddpscope::reading {
namespace {

using model::Process;

constexpr std::int64_t kNotSeen = std::numeric_limits<std::int64_t>::max();  // the end

struct Run {
  std::set<std::int32_t> ranks;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = 0;  // wall clock
  std::int32_t last_attempt = 0;                                                  // counted within the run
  std::int32_t attempts_before = 0;
};

bool repeats(const Run& later, const Run& earlier) {
  return earlier.last_ns <= later.first_ns &&
         std::any_of(later.ranks.begin(), later.ranks.end(),
                     [&](std::int32_t rank) { return earlier.ranks.count(rank) > 0; });
}

struct Launch {
  std::uint32_t component;
  Lifetime life{std::numeric_limits<std::int64_t>::max(), 0, 0};
  std::set<std::string_view> runs{}, commands{};  // those of several ranks or hosts may differ
};

std::vector<Launch> find_launches(const std::vector<Process>& processes, const Components& components) {
  std::vector<Launch> launches;
  for (std::uint32_t component : components.jobs) {
    Launch launch{component};
    // What has no name may serve several jobs, as a shell that starts them.
    bool named = false;
    for (std::size_t i = 0; i < processes.size(); ++i)
      named = named || (components.of_process[i] == component && components.named[i]);
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (components.of_process[i] != component) continue;
      launch.runs.insert(run_of(processes[i]));
      launch.commands.insert(setting(processes[i], "DDPSCOPE_COMMAND"));
      if (named && !components.named[i]) continue;
      Lifetime life = lifetime_of(processes[i]);
      launch.life.from_ns = std::min(launch.life.from_ns, life.from_ns);
      launch.life.to_ns = std::max(launch.life.to_ns, life.to_ns);
      launch.life.seen_ns = std::max(launch.life.seen_ns, life.seen_ns);
    }
    launch.runs.erase("");
    launch.commands.erase("");
    launches.push_back(std::move(launch));
  }
  return launches;
}

bool launches_again(const Launch& later, const Launch& earlier) {
  auto share = [](const std::set<std::string_view>& a, const std::set<std::string_view>& b) {
    return std::any_of(a.begin(), a.end(), [&](std::string_view name) { return b.contains(name); });
  };
  if (share(earlier.runs, later.runs)) return earlier.life.to_ns <= later.life.from_ns;
  bool over = earlier.life.to_ns <= later.life.from_ns || earlier.life.to_ns == kNotSeen;
  return over && earlier.life.seen_ns <= later.life.from_ns && share(earlier.commands, later.commands);
}

std::map<std::string_view, Run> find_runs(const std::vector<Process>& processes) {
  std::map<std::string_view, Run> runs;
  for (const Process& process : processes) {
    if (run_of(process).empty()) continue;
    Run& run = runs[run_of(process)];
    if (process.rank >= 0) run.ranks.insert(process.rank);
    Lifetime life = lifetime_of(process);
    run.first_ns = std::min(run.first_ns, life.from_ns);
    // Whose `run` was killed, too, and is met again with the same rank, has been started anew.
    run.last_ns = std::max(run.last_ns, life.to_ns == kNotSeen ? life.seen_ns : life.to_ns);
    run.last_attempt = std::max(run.last_attempt, process.attempt);
  }
  return runs;
}

// By run, in order of attempt and start.
std::map<std::string_view, std::vector<Process*>> find_group_members(std::vector<Process>& processes,
                                                                     std::int32_t world) {
  std::map<std::string_view, std::vector<Process*>> members;
  for (Process& process : processes) {
    auto joined = process.role == model::Role::kRank ? find_joined_group(process) : std::nullopt;
    if (joined && joined->size == world) members[run_of(process)].push_back(&process);
  }
  for (auto& [run, of_run] : members)
    std::ranges::stable_sort(of_run, {}, [](const Process* process) {
      return std::tuple(process->attempt, lifetime_of(*process).from_ns);
    });
  return members;
}

void number_attempts_of_worlds(const std::vector<Process*>& members) {
  std::set<std::int32_t> ranks;  // of the attempt that is being counted
  std::int64_t over_ns = 0;
  std::int32_t counted = 0, added = 0;
  for (Process* process : members) {
    Lifetime life = lifetime_of(*process);
    bool further = process->attempt != counted;
    counted = process->attempt;
    bool again = !further && ranks.contains(process->rank) && over_ns <= life.from_ns;
    if (again) ++added;
    if (again || further) ranks.clear(), over_ns = 0;
    ranks.insert(process->rank);
    over_ns = std::max(over_ns, life.to_ns);
    process->attempt += added;
  }
}

}  // namespace

std::string_view run_of(const Process& process) { return setting(process, "DDPSCOPE_RUN"); }

std::string run_in(const std::filesystem::path& path) {
  auto file = trace::TraceFile::open(path, trace::Extent::kLatest);
  if (!file) return {};
  Process process{.file = std::move(*file)};
  take_census(process);
  return std::string(run_of(process));
}

Lifetime lifetime_of(const Process& process) {
  const trace::FileHeader& h = process.header();
  trace::ClockLine clock(h.clock, h.tick_hz, process.file.clock_tuples());
  auto from = static_cast<std::int64_t>(h.opened.realtime_ns);
  auto seen = static_cast<std::int64_t>(h.latest.realtime_ns);
  if (process.last_ticks) seen = std::max(seen, clock.realtime_ns(process.last_ticks));
  if (h.ended) return {from, static_cast<std::int64_t>(h.latest.realtime_ns), seen};
  if (process.ended_ticks) return {from, clock.realtime_ns(process.ended_ticks), seen};
  return {from, kNotSeen, seen};
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> sort_attempts(const std::vector<Process>& processes,
                                                                     Components& components) {
  std::vector<Launch> launches = find_launches(processes, components);
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.life.from_ns < b.life.from_ns; });
  components.jobs.clear();
  for (const Launch& launch : launches) components.jobs.push_back(launch.component);
  for (std::size_t i = 1; i < launches.size(); ++i)
    if (!launches_again(launches[i], launches[i - 1]))
      return std::pair{launches[i - 1].component, launches[i].component};
  return std::nullopt;
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

void number_attempts_of_worlds(std::vector<Process>& processes, std::int32_t world) {
  for (const auto& [run, members] : find_group_members(processes, world)) number_attempts_of_worlds(members);
}

}  // namespace ddpscope::reading
