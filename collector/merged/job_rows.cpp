// Ranks in order, those without a trace among them, then what belongs to no rank.
#include "collector/merged/job_rows.h"

#include <algorithm>
#include <set>

#include "collector/model/device_work.h"
#include "collector/model/process_name.h"

namespace ddpscope::merged {
namespace {

using model::Job;
using model::Process;

// What a damaged trace says of the world's size must not become that many rows.
constexpr std::int32_t kMostMissing = 100'000;

JobFacts facts_of(const Job& job) {
  JobFacts facts;
  facts.start_unix_ns = job.start_unix_ns;
  facts.duration_ns = std::max<std::int64_t>(job.duration_ns, 0);
  facts.calls = job.calls();
  facts.dropped = job.lost();
  facts.clock_error_ns = job.clock_error_ns;
  facts.world_size = job.world_size;
  facts.ranks = static_cast<std::int32_t>(job.ranks().size());
  facts.processes = static_cast<std::int32_t>(job.processes.size());
  facts.attempt = job.attempt;
  facts.other_attempts = job.other_attempts;
  facts.gpu_timing = model::gpu_timing(job);
  return facts;
}

std::uint64_t dropped_of(const Process& process) {
  return process.file.health(trace::Health::kept_records_lost) +
         process.file.health(trace::Health::bulk_records_lost) +
         process.file.health(trace::Health::bulk_records_overwritten);
}

std::string command_of(const Process& process) {
  std::string command;
  for (std::string_view word : process.arguments) command.append(command.empty() ? "" : " ").append(word);
  return command;
}

ProcessRow row_of(const Job& job, const Process& process) {
  return {model::process_name(job, process), process.header().pid, process.host, process.rank,
          model::name_of(process.role),      command_of(process)};
}

// Ranks that have a trace, and those that the world's size says there are.
std::vector<std::int32_t> rank_numbers(const Job& job) {
  std::vector<std::int32_t> met = job.ranks();
  std::set<std::int32_t> numbers(met.begin(), met.end());
  for (std::int32_t rank = 0; rank < std::min(job.world_size, kMostMissing); ++rank) numbers.insert(rank);
  numbers.erase(-1);
  return {numbers.begin(), numbers.end()};
}

void describe(RankRow& row, const Job& job, const Process& process) {
  row.host = process.host;
  row.process = model::process_name(job, process);
  row.role = model::name_of(process.role);
  row.first_ns = process.first_ns;
  row.last_ns = process.last_ns;
  row.dropped = dropped_of(process);
  row.numbered_by_start = std::string_view(process.rank_source) == "order of start";
}

// One process may hold several ranks.
const Process* holder_of(const Job& job, std::int32_t rank) {
  std::int32_t process = job.process_of_rank(rank);
  if (process >= 0) return &job.processes[static_cast<std::size_t>(process)];
  for (const Process& each : job.processes)
    for (const model::Membership& member : each.memberships)
      if (member.rank == rank && member.size == job.world_size && member.parent == 0 &&
          each.role == model::Role::kRank)
        return &each;
  return nullptr;
}

void add_rank_rows(const Job& job, JobRows& rows) {
  std::vector<std::int32_t> met = job.ranks();
  for (std::int32_t rank : rank_numbers(job)) {
    RankRow row;
    row.rank = rank;
    row.missing = !std::binary_search(met.begin(), met.end(), rank);
    if (const Process* process = row.missing ? nullptr : holder_of(job, rank)) describe(row, job, *process);
    rows.facts.ranks.push_back(std::move(row));
  }
}

void add_shared_processes(const Job& job, JobRows& rows) {
  for (std::uint32_t row = 0; row < rows.facts.ranks.size(); ++row) {
    const RankRow& rank = rows.facts.ranks[row];
    if (rank.rank < 0 || rank.missing || job.process_of_rank(rank.rank) >= 0) continue;
    if (const Process* holder = holder_of(job, rank.rank))
      rows.processes_of_row[row].push_back(static_cast<std::uint32_t>(holder - job.processes.data()));
  }
}

void add_processes(const Job& job, JobRows& rows) {
  rows.row_of_process.resize(job.processes.size());
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const Process& process = job.processes[i];
    std::uint32_t row = rows.row_of_rank(process.rank);
    if (row == kNone) {
      row = static_cast<std::uint32_t>(rows.facts.ranks.size());
      rows.facts.ranks.emplace_back();
      describe(rows.facts.ranks.back(), job, process);
    }
    rows.row_of_process[i] = row;
  }
  rows.processes_of_row.resize(rows.facts.ranks.size());
  add_shared_processes(job, rows);
  for (bool own : {true, false})
    for (std::uint32_t i = 0; i < job.processes.size(); ++i)
      if (own == (job.processes[i].role != model::Role::kWorker))
        rows.processes_of_row[rows.row_of_process[i]].push_back(i);
}

void add_hosts(const Job& job, JobRows& rows) {
  std::vector<HostRow> hosts(job.hosts.size());
  for (std::uint32_t i = 0; i < hosts.size(); ++i)
    hosts[i] = {job.hosts[i].name, i, job.hosts[i].id, job.hosts[i].clock_error_ns, {}};
  for (std::uint32_t row = 0; row < rows.facts.ranks.size(); ++row)
    if (rows.facts.ranks[row].host < hosts.size()) hosts[rows.facts.ranks[row].host].ranks.push_back(row);
  // By their lowest rank.
  std::vector<std::uint32_t> order(hosts.size()), place(hosts.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    auto lowest = [&](std::uint32_t host) {
      return hosts[host].ranks.empty() ? kNone : hosts[host].ranks[0];
    };
    return lowest(a) < lowest(b);
  });
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    rows.facts.hosts.push_back(hosts[order[i]]);
  }
  for (RankRow& row : rows.facts.ranks)
    if (row.host != kNone) row.host = place[row.host];
  for (ProcessRow& row : rows.facts.processes) row.host = place[row.host];
}

}  // namespace

std::uint32_t JobRows::row_of_rank(std::int32_t rank) const {
  if (rank < 0) return kNone;
  auto found = std::partition_point(facts.ranks.begin(), facts.ranks.end(),
                                    [&](const RankRow& row) { return row.rank >= 0 && row.rank < rank; });
  if (found == facts.ranks.end() || found->rank != rank) return kNone;
  return static_cast<std::uint32_t>(found - facts.ranks.begin());
}

JobRows rows_of(const Job& job) {
  JobRows rows;
  rows.facts.job = facts_of(job);
  for (const Process& process : job.processes) rows.facts.processes.push_back(row_of(job, process));
  add_rank_rows(job, rows);
  add_processes(job, rows);
  add_hosts(job, rows);
  return rows;
}

}  // namespace ddpscope::merged
