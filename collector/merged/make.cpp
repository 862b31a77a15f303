// Analyses a trace and writes its merged file while everything that was derived is at hand.
#include "collector/merged/make.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "collector/analysis/analyze.h"
#include "collector/live/look.h"
#include "collector/merged/job_collectives.h"
#include "collector/merged/job_info.h"
#include "collector/merged/job_rows.h"
#include "collector/merged/job_tracks.h"
#include "collector/merged/writer.h"
#include "collector/summary/summary.h"

namespace ddpscope::merged {
namespace {

// When the next preview is due: seldom enough that all of them take an eighth of the time.
class PreviewPace {
 public:
  template <class Show>
  void show_if_due(Show&& show) {
    auto begin = Clock::now();
    if (begin < due_) return;
    show();
    auto end = Clock::now();
    due_ = end + std::max<Clock::duration>(8 * (end - begin), std::chrono::milliseconds(400));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point due_{};
};

// What goes wrong here goes wrong with the file itself, which tells.
void show(Writer& writer, Contents contents, const std::vector<CommunicatorRow>& communicators,
          const TakePreview& take) {
  auto sections = Output::create(writer.target() += ".preview");
  if (!sections) return;
  auto preview = writer.preview(std::move(contents), communicators, std::move(*sections));
  if (preview) take(std::move(*preview));
}

class JobFile {
 public:
  JobFile(const detectors::Facts& facts, const analysis::Analysis& analysis, Writer& writer, JobRows& rows,
          reading::Progress& progress, const TakePreview& take)
      : facts_(facts),
        rows_(rows),
        writer_(writer),
        marks_(facts.job, analysis.outcome),
        making_{writer, facts, rows, marks_},
        order_(facts.collectives),
        progress_(progress),
        analysis_(analysis),
        take_(take) {}

  std::optional<Error> write() {
    list_communicators();
    for (std::uint32_t row = 0; row < rows_.processes_of_row.size() && !writer_.failed(); ++row) {
      progress_.at("writing time lines", row, rows_.processes_of_row.size());
      if (take_)
        pace_.show_if_due([this] { show(writer_, contents(), communicator_rows(making_, order_), take_); });
      write_row(row);
    }
    writer_.add_info(info_of(facts_.job, facts_.collectives, facts_.collective_times.get()));
    if (analysis_.errors.empty()) writer_.add_summary(summary_text());
    writer_.settle();
    progress_.at("writing collectives", 0, 1);
    write_collectives(making_, order_, marks_.marks());
    return writer_.finish(contents());
  }

 private:
  Contents contents();
  std::string summary_text() const;
  void write_row(std::uint32_t row);
  void write_process(std::uint32_t process, std::uint32_t row);
  void list_communicators();

  const detectors::Facts& facts_;
  JobRows& rows_;
  Writer& writer_;
  JobMarks marks_;
  Making making_;
  CommunicatorOrder order_;
  reading::Progress& progress_;
  const analysis::Analysis& analysis_;
  const TakePreview& take_;
  PreviewPace pace_;
  // By process: its own number of each communicator, with row and member of the file.
  std::vector<std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> communicators_;
};

// As far as it is written.
Contents JobFile::contents() {
  rows_.facts.job.events_left_out = making_.left_out;
  std::vector<Error> problems = analysis_.errors;
  if (problems.empty() && analysis_.nothing_judged) problems.push_back(*analysis_.nothing_judged);
  return {rows_.facts, {analysis_.outcome, marks_.marks(), marks_.accesses(), std::move(problems)}};
}

std::string JobFile::summary_text() const {
  return summary::to_json(
      summary::summarise(facts_.job, facts_.collectives, facts_.collective_times.get(), analysis_.outcome));
}

void JobFile::write_row(std::uint32_t row) {
  RankRow& rank = rows_.facts.ranks[row];
  for (std::uint32_t process : rows_.processes_of_row[row]) write_process(process, row);
  writer_.close_rank(row, rank.rank >= 0 && !rank.missing);
}

void JobFile::list_communicators() {
  communicators_.resize(facts_.job.processes.size());
  const auto& communicators = facts_.collectives.communicators;
  for (std::uint32_t i = 0; i < communicators.size(); ++i)
    for (std::uint32_t m = 0; m < communicators[i].members.size(); ++m) {
      const matching::Member& member = communicators[i].members[m];
      communicators_[member.process].emplace_back(member.number, order_.rows[i], m);
    }
}

void JobFile::write_process(std::uint32_t process, std::uint32_t row) {
  LaneTracks tracks(making_, process, row);
  ProcessTables tables;
  RankRow& rank = rows_.facts.ranks[row];
  std::string device;
  CallsBySubject calls = write_calls(making_, process, tracks, tables, device);
  if (rank.device.empty()) rank.device = device;
  write_device_work(making_, process, tracks, tables, calls);
  if (facts_.job.processes[process].role == model::Role::kRank) write_steps(making_, process, tracks);
  write_sightings(making_, process, tracks);
  for (const auto& [number, communicator, member] : communicators_[process])
    tables.set_communicator(number, communicator, member);
  ByteWriter bytes;
  tables.put(bytes);
  writer_.add_process(process, bytes.bytes());
}

Written not_written(const Error& error) {
  Written result = error;
  result.output_failed = true;
  return result;
}

}  // namespace

Written write_merged(const std::filesystem::path& trace, const std::filesystem::path& output,
                     reading::Progress& progress, const trace::Identity* here, std::int32_t attempt,
                     const TakePreview& take) {
  // Before minutes of analysis: whether there will be a file.
  auto file = Output::create(output);
  if (!file) return not_written(file.error());
  std::optional<JobRows> rows;
  std::optional<Writer> writer;
  std::optional<Error> failure;
  auto begin = [&](const model::Job& job) {
    rows = rows_of(job);
    JobFacts& facts = rows->facts.job;
    facts.source = trace.string();
    facts.version = DDPSCOPE_VERSION;
    facts.runs_on = here && attempt < 0 && live::may_run_on(job, *here);
    writer.emplace(std::move(*file), Writer::Shape{facts.duration_ns, facts.calls, rows->facts.ranks.size()});
    if (take) show(*writer, {rows->facts, {}, false}, {}, take);
  };
  auto write = [&](const detectors::Facts& facts, const analysis::Analysis& analysis) {
    failure = JobFile(facts, analysis, *writer, *rows, progress, take).write();
  };
  auto analysis = analysis::analyze(trace, {}, progress, here, attempt, write, begin);
  if (!analysis) return analysis.error();
  if (failure) return not_written(*failure);
  return Made{output, std::move(analysis->errors), std::move(analysis->warnings), false};
}

}  // namespace ddpscope::merged
