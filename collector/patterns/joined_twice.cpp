// By what each process asked NCCL for, or told the store.
#include "collector/patterns/joined_twice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "collector/ordering/communicator_makings.h"
#include "collector/reading/announced_rank.h"
#include "trace/streams.h"

namespace ddpscope::patterns {
namespace {

using model::EventRef;
using model::Job;
using model::Process;

struct Joined {
  std::int32_t rank;
  EventRef event;
  std::int64_t until_ns;  // when its process went on behind it
};

// How long both lived on after the second had joined, ns by their placing; negative: one had ended before.
std::int64_t time_together(const Job& job, EventRef a, EventRef b) {
  std::int64_t from = std::max(job.begin_ns(a), job.begin_ns(b));
  return std::min(job.processes[a.process].last_ns, job.processes[b.process].last_ns) - from;
}

std::optional<JoinedAlike> compare(const Job& job, const Joined& a, const Joined& b) {
  if (a.rank != b.rank) return std::nullopt;
  if (a.event.process == b.event.process) {  // for two devices; behind the first it is another try
    bool together = std::max(job.begin_ns(a.event), job.begin_ns(b.event)) < std::min(a.until_ns, b.until_ns);
    return together ? std::optional(JoinedAlike{a.rank, a.event, b.event, true}) : std::nullopt;
  }
  const Process &one = job.processes[a.event.process], &other = job.processes[b.event.process];
  if (one.attempt != other.attempt || model::is_one_process(one, other)) return std::nullopt;
  std::int64_t together = time_together(job, a.event, b.event);
  std::int64_t error = job.clock_error_between(a.event.process, b.event.process);
  if (together <= 0 || (error < model::kUnaligned && together <= error)) return std::nullopt;
  return JoinedAlike{a.rank, a.event, b.event, error < model::kUnaligned};
}

void add_group(const Job& job, CrowdedGroup group, std::vector<Joined> joined,
               std::vector<CrowdedGroup>& groups) {
  std::stable_sort(joined.begin(), joined.end(),
                   [](const Joined& a, const Joined& b) { return a.rank < b.rank; });
  std::set<std::int32_t> taken;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    bool known = !taken.insert(joined[i].rank).second;
    bool told = known && !group.alike.empty() && group.alike.back().rank == joined[i].rank;
    if (!known || told) continue;
    if (auto alike = compare(job, joined[i - 1], joined[i])) group.alike.push_back(*alike);
  }
  if (group.alike.empty()) return;
  bool all_known = group.by != JoinedBy::kAgents && std::cmp_equal(joined.size(), group.size);
  if (all_known)
    for (std::int32_t rank = 0; rank < group.size; ++rank)
      if (!taken.contains(rank)) group.left_out.push_back(rank);
  groups.push_back(std::move(group));
}

struct Asked {
  std::int32_t size;
  bool sizes_agree = true;
  std::vector<Joined> joined;  // a process may hold several ranks, or use the id again
};

bool has_number_twice(const std::vector<Joined>& joined) {
  std::set<std::int32_t> ranks;
  return std::any_of(joined.begin(), joined.end(),
                     [&](const Joined& own) { return !ranks.insert(own.rank).second; });
}

bool are_of_one_process_each(const std::vector<Joined>& joined) {
  std::set<std::uint32_t> processes;
  return std::all_of(joined.begin(), joined.end(),
                     [&](const Joined& own) { return processes.insert(own.event.process).second; });
}

// Within a group the call only says what is wanted, and the group's end makes it.
class Tries {
 public:
  explicit Tries(const Job& job) : job_(job) {}

  void leave_out_those_that_came_about(std::vector<Joined>& joined) {
    std::erase_if(joined, [&](const Joined& own) {
      trace::Record record = job_.processes[own.event.process].record(own.event.place);
      auto made = trace::payload_of<trace::payload::Communicator>(record);
      bool failed = record.end && made.result != 0 && made.result != kInProgress;
      return !failed && makings(own.event.process).known(record).has_value();
    });
    for (Joined& own : joined)
      own.until_ns =
          makings(own.event.process).returned_ns(job_.processes[own.event.process].record(own.event.place));
  }

 private:
  static constexpr int kInProgress = 7;  // ncclInProgress: a non-blocking communicator comes to be later

  const ordering::CommunicatorMakings& makings(std::uint32_t process) {
    return makings_.try_emplace(process, job_, process).first->second;
  }

  const Job& job_;
  std::map<std::uint32_t, ordering::CommunicatorMakings> makings_;
};

// Calls that failed count as well: of two that claim one rank NCCL refuses one. In a communicator that came
// about each number is there once; a trace that says otherwise is damaged. Two that take themselves for the
// first rank draw an id each, and the others follow one of them: as many as the world has ranks then wait in
// communicators of its size, none of which comes about.
void add_communicators(const Job& job, std::vector<CrowdedGroup>& groups) {
  std::map<std::pair<std::uint64_t, std::int32_t>, Asked> by_id;  // and attempt
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    auto take = [&](model::EventPlace place, const trace::Record& record) {
      auto made = trace::payload_of<trace::payload::Communicator>(record);
      if (made.parent != 0 || made.size <= 0) return;
      Asked& asked =
          by_id.try_emplace({made.id, job.processes[i].attempt}, Asked{made.size, true, {}}).first->second;
      if (asked.size != made.size) asked.sizes_agree = false;
      asked.joined.push_back({made.rank, {i, place}, 0});
    };
    model::for_each(job.processes[i].file, {trace::Operation::kCommunicatorInit}, take);
  }
  Tries tries(job);
  std::map<std::int32_t, std::vector<Joined>> of_the_world;  // by attempt
  for (auto& [id, asked] : by_id) {
    bool twice = has_number_twice(asked.joined);
    if (!asked.sizes_agree || (!twice && asked.size != job.world_size)) continue;
    tries.leave_out_those_that_came_about(asked.joined);
    if (twice)
      add_group(job, {asked.size, JoinedBy::kCommunicator, {}, {}}, std::move(asked.joined), groups);
    else
      std::move(asked.joined.begin(), asked.joined.end(), std::back_inserter(of_the_world[id.second]));
  }
  for (auto& [attempt, joined] : of_the_world)
    if (std::cmp_equal(joined.size(), job.world_size) && are_of_one_process_each(joined))
      add_group(job, {job.world_size, JoinedBy::kCommunicator, {}, {}}, std::move(joined), groups);
}

// Of the store that a process talks to over the socket `inode`; empty if that is not known.
std::string store_of(const Process& process, std::uint64_t inode) {
  std::string_view peer;
  model::for_each(process.file, {trace::Operation::kConnect},
                  [&](model::EventPlace, const trace::Record& record) {
                    const trace::CallInfo* info = trace::find_call(record.call);
                    if (!info || info->payload != trace::PayloadKind::kConnection) return;
                    auto connection = trace::payload_of<trace::payload::Connection>(record);
                    if (connection.inode == inode) peer = process.file.string(connection.peer);
                  });
  if (peer.empty() || peer.starts_with("unix:")) return {};
  bool loopback = peer.starts_with("127.") || peer.starts_with("::1") || peer.starts_with("[::1]");
  if (!loopback) return std::string(peer);
  // Containers of one machine may have a loopback each; children of one parent mostly share theirs.
  const trace::FileHeader& h = process.header();
  return fmt::format("{}/{}/{} {}", h.host_id, h.parent_pid, h.parent_start_time, peer);
}

void add_announced(const Job& job, std::vector<CrowdedGroup>& groups) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<Joined>> stores;  // by store and attempt
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    auto announced = reading::find_announced_rank(process);
    if (!announced) continue;
    auto request = trace::payload_of<trace::payload::StoreKey>(process.record(announced->place));
    std::string store = store_of(process, request.inode);
    if (!store.empty())
      stores[{store, process.attempt}].push_back({announced->rank, {i, announced->place}, 0});
  }
  for (auto& [store, joined] : stores)
    add_group(job, {job.world_size, JoinedBy::kStore, {}, {}}, std::move(joined), groups);
}

struct Agents {
  std::vector<Joined> joined;
  std::set<std::int32_t> there, awaited;
};

void add_agents(const Job& job, std::vector<CrowdedGroup>& groups) {
  std::map<std::pair<std::string, std::string>, Agents> rendezvous;  // by store and what the keys begin with
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    for (const reading::AnnouncedNode& node : reading::find_announced_nodes(process)) {
      auto request = trace::payload_of<trace::payload::StoreKey>(process.record(node.place));
      std::string store = store_of(process, request.inode);
      if (store.empty()) continue;
      Agents& agents = rendezvous[{store, std::string(node.rendezvous)}];
      agents.joined.push_back({node.node_rank, {i, node.place}, 0});
      agents.there.insert(node.node_rank);
      if (node.awaits) agents.awaited.insert(*node.awaits);
    }
  }
  for (auto& [key, agents] : rendezvous) {
    CrowdedGroup group{static_cast<std::int32_t>(agents.joined.size()), JoinedBy::kAgents, {}, {}};
    std::set_difference(agents.awaited.begin(), agents.awaited.end(), agents.there.begin(),
                        agents.there.end(), std::back_inserter(group.left_out));
    add_group(job, std::move(group), std::move(agents.joined), groups);
  }
}

}  // namespace

std::vector<CrowdedGroup> find_crowded_groups(const Job& job) {
  std::vector<CrowdedGroup> groups;
  add_communicators(job, groups);
  add_announced(job, groups);
  add_agents(job, groups);
  return groups;
}

}  // namespace ddpscope::patterns
