// Which processes belong together.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "collector/reading/generations.h"
#include "collector/reading/identity.h"

namespace ddpscope::reading {
namespace {

using model::Membership;
using model::Process;

class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::uint32_t find(std::uint32_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

std::string process_key(std::uint64_t host, std::int32_t pid, std::uint64_t start) {
  return fmt::format("{}/{}/{}", host, pid, start);
}

std::string parent_key(const Process& process) {
  return process_key(process.header().host_id, process.header().parent_pid,
                     process.header().parent_start_time);
}

// What names a job. torchrun without --rdzv-id calls every job "none": there only the agent tells them apart.
std::vector<std::string> job_keys(const Process& process) {
  std::vector<std::string> keys;
  for (const Membership& member : process.memberships)
    keys.push_back(fmt::format("communicator {}", member.id));
  std::string_view run = setting(process, "TORCHELASTIC_RUN_ID");
  if (!run.empty())
    keys.push_back(run == "none" ? "agent " + parent_key(process) : fmt::format("run {}", run));
  std::string_view slurm = setting(process, "SLURM_JOB_ID");
  if (!slurm.empty()) keys.push_back(fmt::format("slurm {}", slurm));
  // One mpirun is one job, even if its ranks make communicators that have no rank in common.
  std::string_view name_space = setting(process, "PMIX_NAMESPACE");
  if (!name_space.empty()) keys.push_back(fmt::format("mpi {}", name_space));
  std::string_view address = setting(process, "MASTER_ADDR"), port = setting(process, "MASTER_PORT");
  if (!address.empty() && !port.empty()) keys.push_back(fmt::format("master {}:{}", address, port));
  return keys;
}

// Of TCP, between hosts: each named alike at both ends.
std::set<std::string> connections_of(const Process& process) {
  constexpr trace::OperationSet kJoining{trace::Operation::kConnect, trace::Operation::kAccept};
  std::set<std::string> connections;
  model::for_each(process.file, kJoining, [&](model::EventPlace, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (!info || info->payload != trace::PayloadKind::kConnection) return;
    auto connection = trace::payload_of<trace::payload::Connection>(record);
    std::string_view local = process.file.string(connection.local),
                     peer = process.file.string(connection.peer);
    auto leaves_host = [](std::string_view address) {
      return !address.empty() && !address.starts_with("unix:") && !address.starts_with("127.") &&
             !address.starts_with("::1") && !address.starts_with("[::1]");
    };
    if (leaves_host(local) && leaves_host(peer))
      connections.insert(fmt::format("{} {}", std::min(local, peer), std::max(local, peer)));
  });
  return connections;
}

// First those that a name joins, then those without one to their parent or siblings, then to what else the
// same `ddpscope run` started. One run may start two jobs, so it joins only what has no name of its own.
class Families {
 public:
  explicit Families(const std::vector<Process>& processes)
      : processes_(processes), sets_(processes.size()), named_(processes.size()) {
    join_named();
    join_children();
    adopt_parents();
    join_runs();
    join_connected();
  }
  std::uint32_t of(std::uint32_t process) { return sets_.find(process); }
  bool has_name(std::uint32_t process) const { return named_[process]; }

 private:
  void join_by(const std::string& key, std::uint32_t i) {
    auto [found, fresh] = first_.emplace(key, i);
    if (!fresh) sets_.join(found->second, i);
  }
  void join_named();
  void join_children();
  void adopt_parents();
  void join_runs();
  void join_connected();
  std::set<std::uint32_t> named_sets();

  const std::vector<Process>& processes_;
  Sets sets_;
  std::vector<bool> named_;
  std::set<std::uint32_t> adopted_;             // by the job of a child
  std::map<std::string, std::uint32_t> first_;  // of each key
};

void Families::join_named() {
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    for (const std::string& key : job_keys(processes_[i])) {
      join_by(key, i);
      named_[i] = true;
    }
}

void Families::join_children() {
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    if (named_[i]) first_.emplace("child of " + parent_key(processes_[i]), i);
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    if (named_[i]) continue;
    if (processes_[i].parent >= 0)
      sets_.join(static_cast<std::uint32_t>(processes_[i].parent), i);
    else
      join_by("child of " + parent_key(processes_[i]), i);
  }
}

// A parent without a name joins its first child's job, and only that: what started two jobs must not join the
// two.
void Families::adopt_parents() {
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    auto parent = static_cast<std::uint32_t>(processes_[i].parent);
    bool adopt = processes_[i].parent >= 0 && (named_[i] || adopted_.contains(i)) && !named_[parent] &&
                 !adopted_.contains(parent) && sets_.find(parent) == parent;
    if (!adopt) continue;
    sets_.join(parent, i);
    adopted_.insert(parent);
  }
}

std::set<std::uint32_t> Families::named_sets() {
  std::set<std::uint32_t> sets;
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    if (named_[i] || adopted_.contains(i)) sets.insert(sets_.find(i));
  return sets;
}

void Families::join_runs() {
  std::set<std::uint32_t> with_name = named_sets();
  std::vector<std::uint32_t> named, unnamed;
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    if (!run_of(processes_[i]).empty()) (with_name.count(sets_.find(i)) ? named : unnamed).push_back(i);
  std::map<std::string_view, std::uint32_t> first_of_run;
  for (std::uint32_t i : named) first_of_run.emplace(run_of(processes_[i]), i);
  for (std::uint32_t i : unnamed) {
    auto [first, fresh] = first_of_run.emplace(run_of(processes_[i]), i);
    if (!fresh) sets_.join(first->second, i);
  }
}

// Runs of one job without a name (mp.spawn on each of several hosts): their ranks talk to each other. Two
// jobs with names may do so as well, by way of a server.
void Families::join_connected() {
  std::set<std::uint32_t> with_name = named_sets();
  std::set<std::uint32_t> all;
  for (std::uint32_t i = 0; i < processes_.size(); ++i) all.insert(sets_.find(i));
  if (all.size() == with_name.size() || all.size() < 2) return;
  std::map<std::string, std::uint32_t> first_end;
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    for (const std::string& connection : connections_of(processes_[i])) {
      auto [other, fresh] = first_end.emplace(connection, i);
      if (fresh) continue;
      std::uint32_t own = sets_.find(i), its = sets_.find(other->second);
      bool own_named = with_name.count(own), its_named = with_name.count(its);
      if (own_named && its_named) continue;
      sets_.join(own, its);
      if (own_named || its_named) with_name.insert(sets_.find(i));
    }
}

}  // namespace

std::string_view setting(const Process& process, std::string_view name) {
  auto found = process.environment.find(name);
  return found == process.environment.end() ? std::string_view{} : found->second;
}

void link_parents(std::vector<Process>& processes) {
  std::map<std::string, std::vector<std::int32_t>> by_key;  // several: exec keeps pid and start time
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const trace::FileHeader& h = processes[i].header();
    by_key[process_key(h.host_id, h.pid, h.start_time)].push_back(static_cast<std::int32_t>(i));
  }
  auto opened = [&](std::int32_t i) { return processes[static_cast<std::size_t>(i)].header().opened.ticks; };
  auto latest_before = [&](const std::string& key, std::int32_t child) {
    std::int32_t best = -1;
    for (std::int32_t i : by_key[key])
      if (i != child && opened(i) < opened(child) && (best < 0 || opened(i) > opened(best))) best = i;
    return best;
  };
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(processes.size()); ++i) {
    Process& process = processes[static_cast<std::size_t>(i)];
    const trace::FileHeader& h = process.header();
    process.parent = latest_before(process_key(h.host_id, h.pid, h.start_time), i);
    if (process.parent < 0) process.parent = latest_before(parent_key(process), i);
    // A parent that recorded its own first call only after the child's: its first program that did.
    std::vector<std::int32_t>& late = by_key[parent_key(process)];
    auto first = std::min_element(late.begin(), late.end(),
                                  [&](std::int32_t a, std::int32_t b) { return opened(a) < opened(b); });
    if (process.parent < 0 && first != late.end() && *first != i) process.parent = *first;
  }
}

void complete_environments(std::vector<Process>& processes) {
  for (Process& process : processes) {
    if (!process.cut_short) continue;
    // A parent may be cut short itself. As many steps as there are processes: a damaged file may name a
    // circle.
    std::int32_t parent = process.parent;
    for (std::size_t steps = 0; parent >= 0 && steps < processes.size(); ++steps) {
      const Process& elder = processes[static_cast<std::size_t>(parent)];
      process.environment.insert(elder.environment.begin(), elder.environment.end());
      parent = elder.cut_short ? elder.parent : -1;
    }
  }
}

Components find_components(const std::vector<Process>& processes) {
  Families families(processes);
  Components result;
  std::set<std::uint32_t> jobs;
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    result.of_process.push_back(families.of(i));
    result.named.push_back(families.has_name(i));
    bool ranked = !processes[i].memberships.empty() || setting(processes[i], "RANK").size();
    if (ranked || !run_of(processes[i]).empty()) jobs.insert(families.of(i));
  }
  result.jobs.assign(jobs.begin(), jobs.end());
  return result;
}

}  // namespace ddpscope::reading
