#include "collector/commands/summaries.h"

#include "collector/analysis/analyze.h"
#include "collector/commands/terminal_progress.h"

namespace ddpscope::commands {

Result<summary::Summary> summarise_trace(const TraceOptions& of) {
  TerminalProgress progress;
  summary::Summary summary;
  auto look = [&](const detectors::Facts& facts, const analysis::Analysis& analysis) {
    summary =
        summary::summarise(facts.job, facts.collectives, facts.collective_times.get(), analysis.outcome);
  };
  auto analysis = analysis::analyze(of.trace, {}, progress, nullptr, of.attempt, {.look = look});
  if (!analysis) return analysis.error();
  if (!analysis->errors.empty()) return analysis->errors.front();
  summary.version = DDPSCOPE_VERSION;
  return summary;
}

}  // namespace ddpscope::commands
