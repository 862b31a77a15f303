// Exit codes, signals, tracebacks and connections of ranks.
#include "collector/detectors/rank_ends.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

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

std::int64_t last_record_ns(const Job& job, std::uint32_t process) {
  std::uint64_t last = 0;
  model::for_each(job.processes[process].file, [&](model::EventPlace, const Record& record) {
    last = std::max({last, record.begin, record.end});
  });
  return last ? job.time_ns(process, last) : 0;
}

RankEnd find_end(const Job& job, std::int32_t rank, std::uint32_t index) {
  const Process& process = job.processes[index];
  RankEnd end{rank, index, find_ending(job, index)};
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

// "was sent a signal to end, and was ended by signal 15", told of several ranks.
std::string of_several(std::string text) {
  for (std::string_view verb : {"was ", ", and was "})
    if (std::size_t found = text.find(verb); found != std::string::npos && (found == 0 || verb[0] == ','))
      text.replace(found + verb.size() - 4, 3, "were");
  return text;
}

}  // namespace

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

RankEnds find_rank_ends(const Job& job) {
  RankEnds ends{{}, find_untraced_failures(job)};
  for (std::int32_t rank : job.ranks())
    if (std::int32_t process = job.process_of_rank(rank); process >= 0)
      ends.recorded.push_back(find_end(job, rank, static_cast<std::uint32_t>(process)));
  return ends;
}

bool ended_by_agreement(const Job& job, const std::vector<RankEnd>& ends) {
  if (ends.empty()) return false;
  std::int32_t code = job.processes[ends.front().process].header().exit_code;
  return code != 0 && code != 1 && std::all_of(ends.begin(), ends.end(), [&](const RankEnd& end) {
           const trace::FileHeader& header = job.processes[end.process].header();
           return header.ended && header.exit_code == code && !end.ending.traceback;
         });
}

std::string tell_by_ranks(const std::vector<std::pair<std::int32_t, std::string>>& ends) {
  constexpr std::size_t kMostTold = 8;
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const auto& [rank, text] : ends) {
    auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == text; });
    if (known == groups.end()) known = groups.insert(groups.end(), {text, {}});
    known->second.push_back(rank);
  }
  std::string told;
  for (std::size_t i = 0; i < std::min(groups.size(), kMostTold); ++i) {
    const auto& [text, ranks] = groups[i];
    told +=
        fmt::format("{}{} {}", i ? "; " : "", list_ranks(ranks), ranks.size() > 1 ? of_several(text) : text);
  }
  return told + (groups.size() > kMostTold ? "; ..." : "");
}

}  // namespace ddpscope::detectors
