// Ends of ranks, side by side.
#include "collector/detectors/first_failure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/detectors/untraced_failures.h"
#include "collector/detectors/whereabouts.h"
#include "collector/model/process_name.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

struct End {
  std::int32_t rank;
  std::uint32_t process;
  ProcessEnding ending;
  bool failed = false;
  bool killed = false;
  bool told = false;          // it was sent a signal to end before
  bool unknown = false;       // how it ended, or whether
  std::int64_t began_ns = 0;  // to end; its last record, if it was killed or nothing is known
  std::int64_t gone_ns = 0;
  bool left = false;  // ended by itself, with 0
};

bool aborted(const Job& job, const ProcessEnding& ending) {
  return ending.event && job.record(*ending.event).call == static_cast<std::uint16_t>(trace::Call::abort);
}

// Only what goes on after it shows that the job goes on: whoever ends gives up connections, but so does a
// library that needed them to begin.
bool goes_on(const Record& record) {
  constexpr trace::OperationSet kGoesOn{Operation::kLaunch, Operation::kGraphLaunch, Operation::kCopy};
  const trace::CallInfo* info = trace::find_call(record.call);
  if (info && info->payload == trace::PayloadKind::kCollective) return true;
  if (trace::operation_of(record.call) != Operation::kStreamSend) return info && kGoesOn.has(info->operation);
  auto io = trace::payload_of<trace::payload::StreamIo>(record);
  return io.fd > STDERR_FILENO && io.bytes > 1;  // a byte wakes a thread of its own
}

// The first connection that was given up and after which the job did not go on; the exit without one.
std::int64_t gives_up_ns(const Job& job, std::uint32_t process) {
  const std::int64_t exit_ns = job.processes[process].last_ns;
  std::int64_t closed_ns = exit_ns;
  model::for_each_in_time(job.processes[process].file, [&](model::EventPlace place, const Record& record) {
    if (trace::operation_of(record.call) == Operation::kStreamClose) {
      auto io = trace::payload_of<trace::payload::StreamIo>(record);
      if (io.fd > STDERR_FILENO) closed_ns = std::min(closed_ns, job.begin_ns({process, place}));
    } else if (goes_on(record)) {
      closed_ns = exit_ns;
    }
  });
  return closed_ns;
}

std::int64_t last_record_ns(const Job& job, std::uint32_t process) {
  std::uint64_t last = 0;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    last = std::max({last, record.begin, record.end});
  });
  return last ? job.time_ns(process, last) : 0;
}

End find_end(const Job& job, std::int32_t rank, std::uint32_t index) {
  const Process& process = job.processes[index];
  End end{rank, index, find_ending(job, index)};
  end.gone_ns = process.last_ns;
  end.told = job.told_ns(index) <= process.last_ns;
  if (!process.file.damage().empty()) {  // the calls that would tell are lost
    end.unknown = true;
  } else if (process.header().ended) {
    std::int32_t code = process.header().exit_code;
    end.left = !end.told && code == 0;
    end.failed = !end.told && code != 0 && (code <= kEndedBySignal || aborted(job, end.ending));
    if (end.failed)
      end.began_ns = end.ending.traceback ? job.begin_ns(*end.ending.event) : gives_up_ns(job, index);
  } else if (auto signal = find_signal(job, process)) {
    end.killed = end.failed = !end.told && !is_for_ending_jobs(*signal);
    if (end.killed) end.began_ns = last_record_ns(job, index);
  } else if (!end.told) {
    end.unknown = true;
    end.began_ns = last_record_ns(job, index);
  }
  return end;
}

// A rank that was killed died between its last record and the moment at which it was seen to be gone.
bool is_before(const Job& job, const End& first, const End& other) {
  std::int64_t apart = job.clock_error_between(first.process, other.process);
  if (first.killed && other.killed && std::abs(first.gone_ns - other.gone_ns) < kKilledTogether) return false;
  bool began = first.began_ns + apart < other.began_ns;
  bool outlived = (other.killed || other.unknown) && first.gone_ns + apart + kKilledTogether < other.gone_ns;
  return outlived || (began && (!first.killed || first.gone_ns + apart < other.gone_ns));
}

// By agreement: each with the same code, and of no exception. 1 is what failures end with.
bool agreed(const Job& job, const std::vector<End>& ends, const End& first) {
  std::int32_t code = job.processes[first.process].header().exit_code;
  if (first.killed || first.ending.traceback || code == 1) return false;
  return std::all_of(ends.begin(), ends.end(), [&](const End& end) {
    const trace::FileHeader& header = job.processes[end.process].header();
    return header.ended && header.exit_code == code && !end.ending.traceback;
  });
}

// Beside the first one: who had left before, or done nothing for long, may be what that one failed of.
std::string how(const Job& job, const End& end, std::int64_t first_ns, std::uint32_t first_process) {
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

// "was sent a signal to end, and was ended by signal 15", told of several ranks.
std::string of_several(std::string text) {
  for (std::string_view verb : {"was ", ", and was "})
    if (std::size_t found = text.find(verb); found != std::string::npos && (found == 0 || verb[0] == ','))
      text.replace(found + verb.size() - 4, 3, "were");
  return text;
}

// "rank 0 exited with 1; ranks 2 and 3 were sent a signal to end".
std::string tell_others(const Job& job, const std::vector<End>& ends, const End* first,
                        std::int64_t first_ns) {
  constexpr std::size_t kMostTold = 8;
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const End& end : ends) {
    if (&end == first) continue;
    std::string text = how(job, end, first_ns, first ? first->process : end.process);
    auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == text; });
    if (known == groups.end()) known = groups.insert(groups.end(), {std::move(text), {}});
    known->second.push_back(end.rank);
  }
  std::string told;
  for (std::size_t i = 0; i < std::min(groups.size(), kMostTold); ++i) {
    const auto& [text, ranks] = groups[i];
    told +=
        fmt::format("{}{} {}", i ? "; " : "", list_ranks(ranks), ranks.size() > 1 ? of_several(text) : text);
  }
  return told + (groups.size() > kMostTold ? "; ..." : "");
}

// "; its worker 4242 had been ended by signal 9 (SIGKILL), 0.027 s before": the kernel, for want of memory,
// ends the one that holds the most, and the rank fails of what it finds.
std::string tell_killed_worker(const Job& job, const End& first) {
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

findings::FirstFailure tell(const Job& job, const std::vector<End>& ends, const End& first) {
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
findings::FirstFailure tell(const Job& job, const std::vector<End>& ends, const UntracedFailure& first) {
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

std::optional<findings::FirstFailure> find_first_failure(const Job& job) {
  std::vector<End> ends;
  for (std::int32_t rank : job.ranks())
    if (std::int32_t process = job.process_of_rank(rank); process >= 0)
      ends.push_back(find_end(job, rank, static_cast<std::uint32_t>(process)));
  std::vector<UntracedFailure> untraced = find_untraced_failures(job);
  if (ends.size() + untraced.size() < 2) return std::nullopt;
  bool untraced_first = !untraced.empty() && std::none_of(ends.begin(), ends.end(), [&](const End& end) {
    return (end.failed || end.unknown) && end.began_ns < untraced.front().to_ns;
  });
  if (untraced_first) return tell(job, ends, untraced.front());
  auto first = std::find_if(ends.begin(), ends.end(), [&](const End& end) {
    return end.failed && std::all_of(ends.begin(), ends.end(), [&](const End& other) {
             bool competes = &other != &end && (other.failed || other.unknown);
             return !competes || is_before(job, end, other);
           });
  });
  if (first == ends.end() || agreed(job, ends, *first)) return std::nullopt;
  findings::FirstFailure failure = tell(job, ends, *first);
  for (const UntracedFailure& other : untraced)
    failure.others += fmt::format("{}{} {}, at some time from {} to {}", failure.others.empty() ? "" : "; ",
                                  other.rank < 0 ? other.process : fmt::format("rank {}", other.rank),
                                  other.sentence, seconds(other.from_ns), seconds(other.to_ns));
  return failure;
}

}  // namespace ddpscope::detectors
