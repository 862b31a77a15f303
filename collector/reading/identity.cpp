// Roles and ranks.
#include "collector/reading/identity.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "collector/model/makers.h"
#include "collector/model/rank_variables.h"
#include "collector/reading/announced_rank.h"
#include "collector/reading/generations.h"

namespace ddpscope::reading {

using model::CallClass;
using model::environment_number;
using model::Job;
using model::Membership;
using model::Process;
using model::Role;
using trace::kRankVariables;

namespace {

constexpr const char* kByStore = "store";

bool made_calls(const Process& process, CallClass call_class) {
  return process.calls[static_cast<std::size_t>(call_class)] > 0;
}

void rank_by_communicator(Process& process, std::int32_t world) {
  for (const Membership& member : process.memberships) {
    if (member.size != world || member.parent != 0) continue;
    if (process.rank >= 0 && process.rank <= member.rank) continue;
    process.rank = member.rank;
    process.rank_source = "communicator";
    process.role = Role::kRank;
  }
}

// The rank in a process group of all ranks; nothing where none is known.
std::optional<std::int32_t> rank_in_group(const Process& process, std::int32_t world) {
  auto joined = find_joined_group(process);
  return joined && world > 1 && joined->size == world ? std::optional(joined->rank) : std::nullopt;
}

void rank_by_environment(Process& process, std::int32_t world) {
  for (const trace::RankVariable& variable : kRankVariables) {
    // A number within the host is the last resort.
    bool is_local = std::string_view(variable.name) == "LOCAL_RANK";
    if (is_local && rank_in_group(process, world)) continue;
    auto rank = environment_number(process, variable.name);
    if (!rank || *rank < 0) continue;
    process.rank = *rank;
    process.rank_source = variable.name;
    process.role = Role::kRank;
    return;
  }
}

// A program that starts the other ranks and is one itself (Lightning's own launcher) has no number from
// anybody.
void rank_by_group(Process& process, std::int32_t world) {
  auto rank = rank_in_group(process, world);
  if (!rank) return;
  process.rank = *rank;
  process.rank_source = "process group";
  process.role = Role::kRank;
}

// mp.spawn and scripts that start their ranks themselves set no variable.
bool rank_by_store(Process& process) {
  auto announced = find_announced_rank(process);
  if (!announced) return false;
  process.rank = announced->rank;
  process.rank_source = kByStore;
  process.role = Role::kRank;
  return true;
}

// A number that the environment gives to several processes which announce different ones was that of their
// node or pod, and each has inherited it.
void prefer_store_to_inherited(std::vector<Process>& processes) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Process*>> announcing;  // by attempt and rank
  for (Process& process : processes)
    if (process.rank >= 0 && process.memberships.empty() && find_announced_rank(process))
      announcing[{process.attempt, process.rank}].push_back(&process);
  for (auto& [number, sharing] : announcing) {
    std::set<std::int32_t> announced;
    for (const Process* process : sharing) announced.insert(find_announced_rank(*process)->rank);
    if (announced.size() > 1)
      for (Process* process : sharing) rank_by_store(*process);
  }
}

bool descends_from(const std::vector<Process>& processes, std::size_t child, std::size_t ancestor) {
  std::int32_t at = processes[child].parent;
  for (std::size_t steps = 0; at >= 0 && steps < processes.size(); ++steps) {
    if (static_cast<std::size_t>(at) == ancestor) return true;
    at = processes[static_cast<std::size_t>(at)].parent;
  }
  return false;
}

// Which of two processes that the environment gives the same rank is that rank: the one that joined a
// communicator, then the one that talks to others or uses a device (a wrapper script does neither), then the
// ancestor (a loader worker inherits the variables), then the earlier.
auto claim(const Process& process) {
  bool talks = made_calls(process, CallClass::kSockets) || made_calls(process, CallClass::kCuda);
  return std::tuple(!process.memberships.empty(), talks);
}

bool has_better_claim(const std::vector<Process>& processes, std::size_t a, std::size_t b) {
  if (claim(processes[a]) != claim(processes[b])) return claim(processes[a]) > claim(processes[b]);
  if (descends_from(processes, b, a)) return true;
  if (descends_from(processes, a, b)) return false;
  return processes[a].header().start_time < processes[b].header().start_time;
}

// The same process, before it became another program (exec).
bool became(const Process& earlier, const Process& later) {
  return is_one_process(earlier, later) && earlier.header().opened.ticks < later.header().opened.ticks;
}

// What came later on the same host with the same number was started by the rank, if only by way of a shell
// that left no trace (os.system).
bool came_later(const Process& process, const Process& rank) {
  return process.header().host_id == rank.header().host_id &&
         process.header().start_time >= rank.header().start_time;
}

// One process a rank and attempt: the others of that number are its workers, or its launcher.
void settle_claims(std::vector<Process>& processes) {
  for (std::size_t a = 0; a < processes.size(); ++a) {
    for (std::size_t b = 0; b < processes.size(); ++b) {
      Process& loser = processes[b];
      const Process& winner = processes[a];
      if (a == b || winner.role != Role::kRank || loser.role != Role::kRank) continue;
      if (winner.rank != loser.rank || winner.attempt != loser.attempt) continue;
      bool related = descends_from(processes, a, b) || descends_from(processes, b, a) ||
                     (winner.parent >= 0 && winner.parent == loser.parent) || came_later(loser, winner);
      bool both_joined = !winner.memberships.empty() && !loser.memberships.empty();
      if (both_joined || !has_better_claim(processes, a, b)) continue;
      bool launched = descends_from(processes, a, b) && !became(loser, winner);
      loser.role = launched ? Role::kLauncher : related ? Role::kWorker : Role::kOther;
    }
  }
}

// A process that another candidate started is that one's loader worker.
void drop_descendants(const std::vector<Process>& processes, std::vector<std::size_t>& candidates) {
  const std::vector<std::size_t> all = candidates;
  std::erase_if(candidates, [&](std::size_t candidate) {
    return std::any_of(all.begin(), all.end(),
                       [&](std::size_t other) { return descends_from(processes, candidate, other); });
  });
}

// Ranks run at the same time; what a script starts one after the other are jobs of one process each.
void keep_those_that_ran_together(const std::vector<Process>& processes,
                                  std::vector<std::size_t>& candidates) {
  auto length = [&](std::size_t i) {
    Lifetime life = lifetime_of(processes[i]);
    return life.to_ns - life.from_ns;
  };
  auto longest = std::max_element(candidates.begin(), candidates.end(),
                                  [&](std::size_t a, std::size_t b) { return length(a) < length(b); });
  if (longest == candidates.end()) return;
  Lifetime frame = lifetime_of(processes[*longest]);
  std::erase_if(candidates, [&](std::size_t i) {
    Lifetime life = lifetime_of(processes[i]);
    return life.from_ns >= frame.to_ns || life.to_ns <= frame.from_ns;
  });
}

std::vector<std::size_t> find_candidates(const std::vector<Process>& processes) {
  std::vector<std::size_t> siblings, roots;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    bool talks = made_calls(processes[i], CallClass::kSockets);
    if (processes[i].parent >= 0 && talks) siblings.push_back(i);
    if (processes[i].parent < 0 && (talks || made_calls(processes[i], CallClass::kCuda))) roots.push_back(i);
  }
  drop_descendants(processes, siblings);
  keep_those_that_ran_together(processes, siblings);
  if (siblings.size() > 1) return siblings;
  keep_those_that_ran_together(processes, roots);
  return roots;
}

// Where neither communicators nor variables name a rank: processes that run together and talk, or use a
// device, are ranks in order of their start; if there are none, whoever started first is rank 0.
void rank_by_start(std::vector<Process>& processes) {
  auto earlier = [&](std::size_t a, std::size_t b) {
    auto key = [&](std::size_t i) {
      return std::tuple(processes[i].parent >= 0, processes[i].header().start_time,
                        processes[i].header().pid);
    };
    return key(a) < key(b);
  };
  std::vector<std::size_t> candidates = find_candidates(processes);
  if (candidates.size() < 2) {
    candidates.resize(processes.size());
    std::iota(candidates.begin(), candidates.end(), std::size_t{0});
    candidates = {*std::min_element(candidates.begin(), candidates.end(), earlier)};
  }
  std::sort(candidates.begin(), candidates.end(), earlier);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Process& process = processes[candidates[i]];
    process.role = Role::kRank;
    process.rank = static_cast<std::int32_t>(i);
    process.rank_source = "order of start";
  }
}

// A communicator is complete only when all its ranks are there. Who is given a rank by the environment alone,
// and came later, works for a rank whose own trace is missing.
void find_orphans(std::vector<Process>& processes, std::int32_t world) {
  std::map<std::int32_t, std::int64_t> complete_ns;  // of each attempt, wall clock
  for (const Process& process : processes)
    for (const Membership& member : process.memberships) {
      std::uint64_t end = process.record(member.place).end;
      if (member.size != world || member.parent != 0 || end == 0) continue;
      const trace::FileHeader& h = process.header();
      trace::ClockLine clock(h.clock, h.tick_hz, process.file.clock_tuples());
      auto [first, fresh] = complete_ns.emplace(process.attempt, clock.realtime_ns(end));
      first->second = std::min(first->second, clock.realtime_ns(end));
    }
  for (Process& process : processes) {
    auto complete = complete_ns.find(process.attempt);
    if (process.role != Role::kRank || !process.memberships.empty() || complete == complete_ns.end())
      continue;
    if (static_cast<std::int64_t>(process.header().opened.realtime_ns) > complete->second)
      process.role = Role::kWorker;
  }
}

// A process whose maker's trace is missing, though it left one: if that started no other rank, it was the
// rank itself, and this one works for it.
void find_orphans_of_missing(std::vector<Process>& processes) {
  auto siblings = [](const Process& a, const Process& b) {
    return a.header().host_id == b.header().host_id && a.header().parent_pid == b.header().parent_pid &&
           a.header().parent_start_time == b.header().parent_start_time;
  };
  for (Process& process : processes) {
    bool orphan = process.parent == model::kMakerMissing && process.memberships.empty();
    if (process.role != Role::kRank || !orphan) continue;
    bool beside_others = std::any_of(processes.begin(), processes.end(), [&](const Process& other) {
      return other.rank >= 0 && other.rank != process.rank && siblings(other, process);
    });
    if (!beside_others) process.role = Role::kWorker;
  }
}

// Of each process the rank that it is or, by exec, becomes: index, -1 for none.
std::vector<std::int32_t> find_ranks_to_be(const std::vector<Process>& processes) {
  auto key = [](const Process& process) {
    const trace::FileHeader& h = process.header();
    return std::tuple(h.host_id, h.pid, h.start_time);
  };
  std::map<decltype(key(processes.front())), std::int32_t> ranks;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (processes[i].role == Role::kRank) ranks[key(processes[i])] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> to_be(processes.size(), -1);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto rank = ranks.find(key(processes[i]));
    if (rank == ranks.end()) continue;
    auto index = static_cast<std::size_t>(rank->second);
    if (index == i || became(processes[i], processes[index])) to_be[i] = rank->second;
  }
  return to_be;
}

// Works for the nearest rank above it, which may not have begun its program yet.
void attach_the_rest(std::vector<Process>& processes) {
  std::vector<std::int32_t> to_be = find_ranks_to_be(processes);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].role == Role::kRank) continue;
    auto at = static_cast<std::int32_t>(i);
    for (std::size_t steps = 0; at >= 0 && steps <= processes.size(); ++steps) {
      if (std::int32_t rank = to_be[static_cast<std::size_t>(at)]; rank >= 0) {
        processes[i].role = Role::kWorker;
        processes[i].rank = processes[static_cast<std::size_t>(rank)].rank;
        processes[i].attempt = processes[static_cast<std::size_t>(rank)].attempt;
        break;
      }
      at = processes[static_cast<std::size_t>(at)].parent;
    }
  }
  for (std::size_t i = 0; i < processes.size(); ++i)
    for (std::size_t j = 0; processes[i].role == Role::kRank && j < processes.size(); ++j)
      if (processes[j].role == Role::kOther && descends_from(processes, i, j))
        processes[j].role = Role::kLauncher;
  for (Process& process : processes)
    if (process.role == Role::kLauncher || process.role == Role::kOther) process.rank = -1;
}

std::int32_t restarts_of(const Process& process) {
  constexpr std::int32_t kMost = 100'000;  // beyond it a number is damaged
  std::int32_t restarts = environment_number(process, "TORCHELASTIC_RESTART_COUNT").value_or(0);
  if (restarts == 0) restarts = environment_number(process, "SLURM_RESTART_COUNT").value_or(0);
  return std::clamp(restarts, 0, kMost);
}

}  // namespace

std::int32_t find_world_size(const std::vector<Process>& processes) {
  std::int32_t world = 0;
  for (const Process& process : processes) {
    for (const Membership& member : process.memberships) world = std::max(world, member.size);
    if (auto joined = find_joined_group(process)) world = std::max(world, joined->size);
    if (process.rank_source == kByStore) world = std::max(world, process.rank + 1);
    for (const trace::RankVariable& variable : kRankVariables)
      if (auto size = environment_number(process, variable.size)) {
        world = std::max(world, *size);
        break;
      }
  }
  return world;
}

void identify(Job& job) {
  job.world_size = find_world_size(job.processes);
  bool named = false;
  for (Process& process : job.processes) {
    process.attempt = restarts_of(process);
    rank_by_communicator(process, job.world_size);
    if (process.rank < 0) rank_by_environment(process, job.world_size);
    if (process.rank < 0) rank_by_group(process, job.world_size);
    named = named || process.rank >= 0;
  }
  if (!named) {
    for (Process& process : job.processes) named = rank_by_store(process) || named;
    job.world_size = find_world_size(job.processes);
  }
  prefer_store_to_inherited(job.processes);
  number_attempts_of_worlds(job.processes, job.world_size);
  number_attempts_of_runs(job.processes);
  if (!named) rank_by_start(job.processes);
  settle_claims(job.processes);
  find_orphans(job.processes, job.world_size);
  find_orphans_of_missing(job.processes);
  attach_the_rest(job.processes);
}

}  // namespace ddpscope::reading
