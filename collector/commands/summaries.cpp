#include "collector/commands/summaries.h"

#include "collector/analysis/analyze.h"
#include "collector/commands/merged_file.h"
#include "collector/commands/terminal_progress.h"

namespace ddpscope::commands {
namespace {

Result<summary::Summary> summary_in(const TraceOptions& of) {
  if (auto problem = check_merged(of)) return *problem;
  auto file = merged::Reader::open(of.trace);
  if (!file) return file.error();
  auto text = file->summary();
  if (!text) return text.error();
  auto summary = summary::parse(*text);
  return summary ? summary
                 : Error{"the merged file's summary cannot be read: " + summary.error().what, of.trace,
                         "export the trace again"};
}

}  // namespace

Result<summary::Summary> summarise_trace(const TraceOptions& of) {
  if (merged::is_merged_file(of.trace)) return summary_in(of);
  TerminalProgress progress;
  summary::Summary summary;
  auto look = [&](const detectors::Facts&, const detectors::Facts& matched,
                  const analysis::Analysis& analysis) {
    summary = summary::summarise(matched.job, matched.collectives, matched.collective_times.get(),
                                 analysis.outcome);
  };
  auto analysis = analysis::analyze(of.trace, {}, progress, nullptr, of.attempt, {.look = look});
  if (!analysis) return analysis.error();
  if (!analysis->errors.empty()) return analysis->errors.front();
  return summary;
}

}  // namespace ddpscope::commands
