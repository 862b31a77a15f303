// Analyses a trace and writes its merged file while everything that was derived is at hand.
#include "collector/merged/make.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <utility>

#include "collector/analysis/analyze.h"
#include "collector/live/look.h"
#include "collector/merged/job_collectives.h"
#include "collector/merged/job_info.h"
#include "collector/merged/job_rows.h"
#include "collector/merged/job_sightings.h"
#include "collector/merged/job_tracks.h"
#include "collector/merged/writer.h"
#include "collector/summary/summary.h"

namespace ddpscope::merged {
namespace {

// When the next preview is due: seldom enough that all of them take an eighth of the time.
class PreviewPace {
 public:
  template <class Show>
  void show_if_due(bool at_once, Show&& show) {
    auto begin = Clock::now();
    if (begin < due_ && !at_once) return;
    show();
    auto end = Clock::now();
    due_ = end + std::max<Clock::duration>(8 * (end - begin), std::chrono::milliseconds(400));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point due_{};
};

Result<Reader> written_so_far(Writer& writer, Contents contents,
                              const std::vector<CommunicatorRow>& communicators = {}) {
  auto sections = Output::create(writer.target() += ".preview");
  if (!sections) return sections.error();
  return writer.preview(std::move(contents), communicators, std::move(*sections));
}

std::string summary_of(const detectors::Facts& facts, const findings::Outcome& outcome) {
  return summary::to_json(
      summary::summarise(facts.job, facts.collectives, facts.collective_times.get(), outcome));
}

// Rows are written by a thread of their own while findings are looked for, for which nothing of a row waits.
class JobFile {
 public:
  JobFile(const analysis::Matched& facts, Writer& writer, JobRows& rows, reading::Progress& progress,
          const TakePreview& take)
      : facts_(facts),
        rows_(rows),
        writer_(writer),
        making_{writer, facts, rows, FileAccesses(writer.folder())},
        order_(facts.collectives),
        progress_(progress),
        take_(take) {}

  void write_rows() {
    list_communicators();
    for (std::uint32_t row = 0; row < rows_.processes_of_row.size() && !writer_.failed(); ++row) {
      // Until then it is told how far the findings are.
      if (judged_.load()) progress_.at("writing time lines", row, rows_.processes_of_row.size());
      write_row(row);
      show_if_due();
    }
  }
  // By the other thread; `analysis` stays where it is.
  void set_judged(const analysis::Analysis& analysis) { judged_ = &analysis; }

  // After both.
  std::optional<Error> finish(const detectors::Facts& facts, const detectors::Facts& matched) {
    show_if_due();
    writer_.add_info(info_of(facts.job, facts.collectives, facts.collective_times.get()));
    if (judged_.load()->errors.empty()) writer_.add_summary(summary_of(matched, judged_.load()->outcome));
    progress_.at("writing collectives", 0, 1);
    auto all = contents();
    if (!all && !writer_.failed()) return all.error();
    if (!all) return writer_.finish({});
    write_collectives(making_, matched, order_, all->found.marks);
    return writer_.finish(std::move(*all));
  }

 private:
  void show_if_due();
  Result<Contents> contents();
  void write_row(std::uint32_t row);
  void write_process(std::uint32_t process, std::uint32_t row);
  void list_communicators();

  analysis::Matched facts_;
  JobRows& rows_;
  Writer& writer_;
  Making making_;
  CommunicatorOrder order_;
  reading::Progress& progress_;
  const TakePreview& take_;
  PreviewPace pace_;
  std::atomic<const analysis::Analysis*> judged_{nullptr};
  bool shown_judged_ = false;
  // By process: its own number of each communicator, with row and member of the file.
  std::vector<std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>> communicators_;
};

// Findings at once, whatever is due.
void JobFile::show_if_due() {
  if (!take_) return;
  bool found = judged_.load() && !shown_judged_;
  pace_.show_if_due(found, [this] {
    auto some = contents();
    if (!some) return;
    auto preview = written_so_far(writer_, std::move(*some), communicator_rows(making_, order_));
    if (preview) take_(std::move(*preview));
  });
  shown_judged_ = shown_judged_ || found;
}

// As far as it is written, and found.
Result<Contents> JobFile::contents() {
  rows_.facts.job.events_left_out = making_.left_out;
  const analysis::Analysis* analysis = judged_.load();
  writer_.settle();
  if (!analysis) return Contents{rows_.facts, {}, false};
  Found found{analysis->outcome, {}, making_.accesses.of(analysis->outcome, writer_), analysis->errors};
  if (found.problems.empty() && analysis->nothing_judged) found.problems.push_back(*analysis->nothing_judged);
  auto written = written_so_far(writer_, {rows_.facts, {}, false});
  if (!written) return written.error();
  found.marks = find_marks(*written, analysis->outcome);
  return Contents{rows_.facts, std::move(found)};
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
  Standing standing(facts_.job.processes[process]);
  CallsBySubject calls = write_calls(making_, process, tracks, tables, standing, device);
  const std::string of_rank = tracks.shares().device_of(row);
  if (rank.device.empty()) rank.device = of_rank.empty() ? device : of_rank;
  write_device_work(making_, process, tracks, tables, calls);
  if (row != rows_.row_of_process[process]) return;  // of another rank that the process holds
  if (facts_.job.processes[process].role == model::Role::kRank) write_steps(making_, process, tracks);
  write_sightings(making_, process, standing, tracks);
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
    if (!take) return;
    if (auto preview = written_so_far(*writer, {rows->facts, {}, false})) take(std::move(*preview));
  };
  std::optional<JobFile> job_file;
  auto write_rows = [&](const analysis::Matched& facts) {
    job_file.emplace(facts, *writer, *rows, progress, take);
    return std::async(std::launch::async, [&] { job_file->write_rows(); });
  };
  auto judged = [&](const analysis::Analysis& analysis) { job_file->set_judged(analysis); };
  auto finish = [&](const detectors::Facts& facts, const detectors::Facts& matched,
                    const analysis::Analysis&) { failure = job_file->finish(facts, matched); };
  auto analysis = analysis::analyze(trace, {}, progress, here, attempt, {begin, write_rows, judged, finish});
  if (!analysis) return analysis.error();
  if (failure) return not_written(*failure);
  return Made{output, std::move(analysis->errors), std::move(analysis->warnings), false};
}

}  // namespace ddpscope::merged
