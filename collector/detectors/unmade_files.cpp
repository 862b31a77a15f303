// The last opening in vain before a FileNotFoundError.
#include "collector/detectors/unmade_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "collector/detectors/process_ending.h"
#include "collector/detectors/story.h"
#include "collector/files/places.h"
#include "collector/patterns/fatal_failures.h"

namespace ddpscope::detectors {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;

struct Missed {
  model::EventRef opening;
  std::string_view path;
};

bool raised_for_a_file(const trace::TraceFile& file) {
  bool raised = false;
  model::for_each(file, {Operation::kTraceback}, [&](model::EventPlace, const Record& record) {
    auto traceback = trace::payload_of<trace::payload::Traceback>(record);
    raised = raised || file.string(traceback.exception) == "FileNotFoundError";
  });
  return raised;
}

// Python tries to open the source of the frames that it prints, "<frozen runpy>" for one.
bool is_source(std::string_view path) {
  return path.ends_with(".py") || path.find("/<") != std::string_view::npos;
}

std::optional<Missed> find_missed(const Job& job, std::uint32_t process, patterns::FatalFailures& fatal) {
  const trace::TraceFile& file = job.processes[process].file;
  std::optional<Missed> last;
  if (!raised_for_a_file(file)) return last;
  model::for_each_in_time(file, {Operation::kOpen}, [&](model::EventPlace place, const Record& record) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    std::string_view path = file.string(opening.path);
    if (opening.error != ENOENT || opening.flags & O_CREAT || path.empty() || is_source(path)) return;
    model::EventRef event{process, place};
    if (fatal.ended(ordering::Span{{process, record.thread}, job.begin_ns(event), job.end_ns(event)}))
      last = Missed{event, path};
  });
  return last;
}

// The name that the call gives a meaning; empty if it gives none.
std::string_view made_path(const trace::TraceFile& file, const Record& record) {
  if (trace::operation_of(record.call) == Operation::kOpen) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    return !opening.error && opening.flags & O_CREAT ? file.string(opening.path) : std::string_view{};
  }
  if (trace::find_call(record.call)->payload != trace::PayloadKind::kFileName) return {};
  auto name = trace::payload_of<trace::payload::FileName>(record);
  return name.error ? std::string_view{} : file.string(name.target);
}

bool is_made(const Job& job, const files::Places& places, const std::string& place) {
  bool made = false;
  for (std::uint32_t i = 0; i < job.processes.size() && !made; ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    model::for_each(file, {Operation::kOpen, Operation::kRename, Operation::kLink},
                    [&](model::EventPlace, const Record& record) {
                      std::string_view path = made_path(file, record);
                      made = made || (!path.empty() && places.of(i, path) == place);
                    });
  }
  return made;
}

std::vector<std::int32_t> ranks_told_to_end(const Job& job, std::int32_t failed) {
  std::vector<std::int32_t> ranks;
  for (const model::Process& process : job.processes) {
    if (process.role != model::Role::kRank || process.rank == failed) continue;
    auto signal = find_signal(job, process);
    if (signal && is_for_ending_jobs(*signal)) ranks.push_back(process.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

void add_unmade_files(const Facts& facts, findings::Outcome& outcome) {
  const Job& job = facts.job;
  patterns::FatalFailures fatal(job);
  std::optional<files::Places> places;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (job.processes[process].role != model::Role::kRank) continue;
    auto missed = find_missed(job, process, fatal);
    if (!missed) continue;
    std::int32_t rank = job.processes[process].rank;
    std::vector<std::int32_t> ended = ranks_told_to_end(job, rank);
    if (!places) places.emplace(job);
    if (ended.empty() || is_made(job, *places, places->of(process, missed->path))) continue;
    outcome.coverage.push_back(
        {fmt::format("rank {} failed for want of {}{}", rank, missed->path,
                     at(facts.places.of(missed->opening))),
         fmt::format("nobody had made it when {} {} ended for that: what {} would have done shows in no call",
                     list_ranks(ended), verb(ended, "was", "were"), ended.size() == 1 ? "it" : "they"),
         {"missing-barrier"}});
  }
}

}  // namespace ddpscope::detectors
