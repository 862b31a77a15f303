// Ends of ranks, side by side.
#include "collector/detectors/first_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/model/process_name.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using model::Process;

// A rank that was killed died between its last record and the moment at which it was seen to be gone.
bool is_before(const Job& job, const RankEnd& first, const RankEnd& other) {
  std::int64_t apart = job.clock_error_between(first.process, other.process);
  if (first.killed && other.killed && std::abs(first.gone_ns - other.gone_ns) < kKilledTogether) return false;
  bool began = first.began_ns + apart < other.began_ns;
  bool outlived = (other.killed || other.unknown) && first.gone_ns + apart + kKilledTogether < other.gone_ns;
  return outlived || (began && (!first.killed || first.gone_ns + apart < other.gone_ns));
}

// Beside the first one: who had left before, or done nothing for long, may be what that one failed of.
std::string how(const Job& job, const RankEnd& end, std::int64_t first_ns, std::uint32_t first_process) {
  constexpr std::int64_t kLong = 2'000'000'000;
  std::string told = end.told ? "was sent a signal to end" : "";
  if (end.left) {
    std::int64_t before_ns = first_ns - gives_up_ns(job, end.process);
    if (before_ns > job.clock_error_between(end.process, first_process))
      return fmt::format("{}, {} before that", end.ending.sentence, seconds(before_ns));
  }
  if (!end.ending.sentence.empty()) return told + (end.told ? ", and " : "") + end.ending.sentence;
  if (!end.told)
    return job.processes[end.process].ended_ticks ? "ended without an exit of its own"
                                                  : "was not seen to end";
  told += after_last_call(job, end.process);
  std::int64_t idle_ns =
      first_ns - last_act_ns(job, end.process, {model::kMainThread}, OpenRun::kMayHaveJustActed, first_ns);
  return idle_ns < kLong ? told : fmt::format("{}, and had done nothing for {} then", told, seconds(idle_ns));
}

// "rank 0 exited with 1; ranks 2 and 3 were sent a signal to end".
std::string tell_others(const Job& job, const std::vector<RankEnd>& ends, const RankEnd* first,
                        std::int64_t first_ns) {
  std::vector<std::pair<std::int32_t, std::string>> told;
  for (const RankEnd& end : ends)
    if (&end != first)
      told.emplace_back(end.rank, how(job, end, first_ns, first ? first->process : end.process));
  return tell_by_ranks(told);
}

// "; its worker 4242 had been ended by signal 9 (SIGKILL), 0.027 s before": the kernel, for want of memory,
// ends the one that holds the most, and the rank fails of what it finds.
std::string tell_killed_worker(const Job& job, const RankEnd& first) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const Process& worker = job.processes[i];
    if (worker.role != model::Role::kWorker || worker.rank != first.rank || worker.header().ended) continue;
    auto signal = find_signal(job, worker);
    if (!signal || is_for_ending_jobs(*signal) || worker.last_ns >= first.began_ns) continue;
    return fmt::format("; its worker {} had been ended by {} {} before{}", worker.header().pid,
                       text_of_signal(*signal), seconds(first.began_ns - worker.last_ns),
                       text_of_memory(worker, *signal));
  }
  return "";
}

findings::FirstFailure tell(const Job& job, const std::vector<RankEnd>& ends, const RankEnd& first) {
  findings::FirstFailure failure;
  if (first.ending.event) failure.evidence = evidence_of(job, *first.ending.event, "");
  failure.evidence.rank = first.rank;
  failure.evidence.process = model::process_name(job, job.processes[first.process]);
  failure.evidence.t_ns = first.killed ? first.gone_ns : first.began_ns;
  failure.evidence.detail = first.ending.sentence + tell_killed_worker(job, first);
  failure.others = tell_others(job, ends, &first, first.began_ns);
  return failure;
}

// It ended at some time before its parent asked. The place in the program is the parent's.
findings::FirstFailure tell(const Job& job, const std::vector<RankEnd>& ends, const UntracedFailure& first) {
  findings::FirstFailure failure;
  failure.evidence = evidence_of(job, first.awaited, first.sentence);
  failure.evidence.stack.clear();
  failure.evidence.rank = first.rank;
  failure.evidence.process = first.process;
  failure.evidence.t_ns = first.to_ns;
  failure.others = tell_others(job, ends, nullptr, first.to_ns);
  return failure;
}

}  // namespace

std::optional<findings::FirstFailure> find_first_failure(const Job& job, const RankEnds& all) {
  const std::vector<RankEnd>& ends = all.recorded;
  const std::vector<UntracedFailure>& untraced = all.untraced;
  if (ends.size() + untraced.size() < 2) return std::nullopt;
  bool untraced_first = !untraced.empty() && std::none_of(ends.begin(), ends.end(), [&](const RankEnd& end) {
    return (end.failed || end.unknown) && end.began_ns < untraced.front().to_ns;
  });
  if (untraced_first) return tell(job, ends, untraced.front());
  auto first = std::find_if(ends.begin(), ends.end(), [&](const RankEnd& end) {
    return end.failed && std::all_of(ends.begin(), ends.end(), [&](const RankEnd& other) {
             bool competes = &other != &end && (other.failed || other.unknown);
             return !competes || is_before(job, end, other);
           });
  });
  if (first == ends.end() || ended_by_agreement(job, ends)) return std::nullopt;
  findings::FirstFailure failure = tell(job, ends, *first);
  for (const UntracedFailure& other : untraced)
    failure.others += fmt::format("{}{} {}, at some time from {} to {}", failure.others.empty() ? "" : "; ",
                                  other.rank < 0 ? other.process : fmt::format("rank {}", other.rank),
                                  other.sentence, seconds(other.from_ns), seconds(other.to_ns));
  return failure;
}

}  // namespace ddpscope::detectors
