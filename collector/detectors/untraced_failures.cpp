// Reads of launchers what they made and awaited.
#include "collector/detectors/untraced_failures.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "collector/detectors/process_ending.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

// The children of one parent that left a trace.
struct Traced {
  std::set<std::int32_t> pids;
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  void add(const Process& process) {
    pids.insert(process.header().pid);
    first_end_ns = std::min(first_end_ns, process.last_ns);
  }
};
using Children = std::map<std::uint32_t, Traced>;  // by parent

// Of each process that started ranks.
Children find_children(const Job& job) {
  Children children;
  for (const Process& process : job.processes)
    if (process.role == model::Role::kRank && process.parent >= 0)
      children[static_cast<std::uint32_t>(process.parent)];
  for (const Process& process : job.processes)
    if (auto of = children.find(static_cast<std::uint32_t>(process.parent)); of != children.end())
      of->second.add(process);
  return children;
}

std::optional<std::int32_t> only_missing_rank(const Job& job) {
  std::vector<std::int32_t> present = job.ranks();
  std::optional<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < job.world_size; ++rank) {
    if (std::binary_search(present.begin(), present.end(), rank)) continue;
    if (missing) return std::nullopt;
    missing = rank;
  }
  return missing;
}

// Empty if it is no failure.
std::string how_it_ended(int status) {
  std::string before = " before its first recorded call";
  if (WIFEXITED(status) && WEXITSTATUS(status) > 0 && WEXITSTATUS(status) <= kEndedBySignal)
    return fmt::format("exited with {}", WEXITSTATUS(status)) + before;
  if (WIFSIGNALED(status) && !is_for_ending_jobs(WTERMSIG(status)))
    return "was ended by " + text_of_signal(WTERMSIG(status)) + before;
  return "";
}

// Those that were there together with the ones that left a trace: a launcher that starts its ranks anew has
// had others.
void read_launcher(const Job& job, std::uint32_t launcher, const Traced& traced,
                   std::vector<UntracedFailure>& found) {
  std::map<std::int32_t, std::int64_t> made_ns;  // by pid
  std::int64_t all_made_ns = 0;                  // of those with a trace
  std::vector<UntracedFailure> here;
  constexpr trace::OperationSet kChildren{Operation::kFork, Operation::kSpawn, Operation::kWaitChild};
  const trace::TraceFile& file = job.processes[launcher].file;
  model::for_each_in_time(file, kChildren, [&](model::EventPlace place, const Record& record) {
    auto call = trace::payload_of<trace::payload::Process>(record);
    if (call.pid <= 0) return;
    model::EventRef event{launcher, place};
    if (trace::operation_of(record.call) != Operation::kWaitChild) {
      made_ns[call.pid] = job.begin_ns(event);
      if (traced.pids.contains(call.pid)) all_made_ns = job.begin_ns(event);
      return;
    }
    if (traced.pids.contains(call.pid)) return;
    std::string how = how_it_ended(call.status);
    auto made = made_ns.find(call.pid);
    if (how.empty() || made == made_ns.end() || job.begin_ns(event) >= job.told_ns(launcher)) return;
    here.push_back({-1, fmt::format("{}:{}", job.hosts[job.processes[launcher].host].name, call.pid),
                    std::move(how), event, made->second, job.end_ns(event)});
  });
  for (UntracedFailure& failure : here)
    if (failure.from_ns < traced.first_end_ns && failure.to_ns > all_made_ns)
      found.push_back(std::move(failure));
}

}  // namespace

std::vector<UntracedFailure> find_untraced_failures(const Job& job) {
  std::vector<UntracedFailure> found;
  for (const auto& [launcher, traced] : find_children(job)) read_launcher(job, launcher, traced, found);
  std::sort(found.begin(), found.end(),
            [](const UntracedFailure& a, const UntracedFailure& b) { return a.to_ns < b.to_ns; });
  if (auto missing = only_missing_rank(job); missing && found.size() == 1) found.front().rank = *missing;
  return found;
}

}  // namespace ddpscope::detectors
