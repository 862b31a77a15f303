// By what each process asked NCCL for, or told the store.
#include "collector/patterns/joined_twice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

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
};

// How long both lived on after the second had joined, ns by their placing; negative: one had ended before.
std::int64_t time_together(const Job& job, EventRef a, EventRef b) {
  std::int64_t from = std::max(job.begin_ns(a), job.begin_ns(b));
  return std::min(job.processes[a.process].last_ns, job.processes[b.process].last_ns) - from;
}

std::optional<JoinedAlike> compare(const Job& job, const Joined& a, const Joined& b) {
  if (a.rank != b.rank || a.event.process == b.event.process) return std::nullopt;
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
  if (std::cmp_equal(joined.size(), group.size))
    for (std::int32_t rank = 0; rank < group.size; ++rank)
      if (!taken.contains(rank)) group.left_out.push_back(rank);
  groups.push_back(std::move(group));
}

struct Asked {
  std::int32_t size;
  bool sizes_agree = true;
  std::vector<Joined> joined;  // a process once: it may hold several ranks, or use the id again
};

// Calls that failed count as well: of two that claim one rank NCCL refuses one. In a communicator that came
// about each number is there once; a trace that says otherwise is damaged.
void add_communicators(const Job& job, std::vector<CrowdedGroup>& groups) {
  std::map<std::pair<std::uint64_t, std::int32_t>, Asked> by_id;  // and attempt
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    std::set<std::uint64_t> known;
    auto take = [&](model::EventPlace place, const trace::Record& record) {
      auto made = trace::payload_of<trace::payload::Communicator>(record);
      bool came_about = record.end && made.result == 0;
      if (came_about || made.parent != 0 || made.size <= 0 || !known.insert(made.id).second) return;
      Asked& asked =
          by_id.try_emplace({made.id, job.processes[i].attempt}, Asked{made.size, true, {}}).first->second;
      if (asked.size != made.size) asked.sizes_agree = false;
      asked.joined.push_back({made.rank, {i, place}});
    };
    model::for_each(job.processes[i].file, {trace::Operation::kCommunicatorInit}, take);
  }
  for (auto& [id, asked] : by_id)
    if (asked.sizes_agree) add_group(job, {asked.size, false, {}, {}}, std::move(asked.joined), groups);
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
    if (!store.empty()) stores[{store, process.attempt}].push_back({announced->rank, {i, announced->place}});
  }
  for (auto& [store, joined] : stores)
    add_group(job, {job.world_size, true, {}, {}}, std::move(joined), groups);
}

}  // namespace

std::vector<CrowdedGroup> find_crowded_groups(const Job& job) {
  std::vector<CrowdedGroup> groups;
  add_communicators(job, groups);
  add_announced(job, groups);
  return groups;
}

}  // namespace ddpscope::patterns
