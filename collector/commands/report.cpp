// ddpscope report: what is wrong with a job.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "collector/analysis/analyze.h"
#include "collector/commands/command.h"
#include "collector/commands/merged_file.h"
#include "collector/commands/output_file.h"
#include "collector/commands/terminal_progress.h"
#include "collector/findings/catalogue.h"
#include "collector/reports/report.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

struct ReportOptions {
  TraceOptions of;
  std::string format = "text";
  std::optional<std::string> output;  // a file; none: standard output
  std::string fail_on = "error";
  std::vector<std::string> only;
  std::vector<std::string> later;  // given to options of the contract that this version lacks
};

std::optional<Error> check(const ReportOptions& options) {
  for (const std::string& slug : options.only)
    if (!findings::find_row(slug))
      return Error{"there is no finding '" + slug + "'", "", "`ddpscope explain` lists them"};
  return options.output ? check_output(*options.output) : std::nullopt;
}

bool reaches(const findings::Outcome& outcome, const std::string& fail_on) {
  if (fail_on == "none") return false;
  for (const findings::Finding& finding : outcome.findings) {
    if (fail_on == "info") return true;
    if (fail_on == "warning" && finding.severity >= findings::Severity::kWarning) return true;
    if (fail_on == "error" && finding.severity == findings::Severity::kError) return true;
  }
  return false;
}

// What a report is made of.
struct Reported {
  reports::JobFacts job;
  findings::Outcome outcome;
  std::vector<Error> errors, warnings;
};

Result<Reported> analyze(const ReportOptions& options) {
  TerminalProgress progress;
  trace::Identity here = trace::read_identity();
  auto analysis = analysis::analyze(options.of.trace, options.only, progress, &here, options.of.attempt);
  if (!analysis) return analysis.error();
  Reported found{reports::facts_of(analysis->job), std::move(analysis->outcome), std::move(analysis->errors),
                 std::move(analysis->warnings)};
  const auto& nothing = analysis->nothing_judged;
  if (nothing && found.errors.empty())  // else it follows from them, and one is enough
    found.errors.push_back({nothing->what, options.of.trace, nothing->hint});
  return found;
}

Result<Reported> read_merged(const ReportOptions& options) {
  if (auto problem = check_merged(options.of)) return *problem;
  if (!options.only.empty())
    return Error{"a merged file has the findings of all detectors", options.of.trace,
                 "name the trace's folder for --only"};
  auto file = merged::Reader::open(options.of.trace);
  if (!file) return file.error();
  return Reported{facts_of(*file), file->outcome(), file->problems(), {}};
}

Outcome report(const ReportOptions& options) {
  if (options.format != "text" && options.format != "json")
    return not_in_this_version("--format " + options.format);
  if (!options.later.empty()) return not_in_this_version("--baseline, --suppress, --mpi and --shard");
  if (auto problem = check(options)) return failed(*problem);
  auto found = merged::is_merged_file(options.of.trace) ? read_merged(options) : analyze(options);
  if (!found) return failed(found.error());
  std::string text = options.format == "json"
                         ? reports::json_report(found->job, found->outcome, DDPSCOPE_VERSION)
                         : reports::text_report(found->job, found->outcome);
  Outcome outcome{reaches(found->outcome, options.fail_on) ? kFindings : kNothingFound,
                  std::move(found->errors), std::move(found->warnings)};
  std::optional<Error> problem;
  if (!options.output)
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    problem = write_output(*options.output, text);
  if (problem) outcome.errors.push_back(*problem);
  if (!outcome.errors.empty()) outcome.code = kCannotRun;
  return outcome;
}

}  // namespace

Action declare_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  declare_trace(app, options->of);
  app.add_option("--format", options->format, "text or json; the others are not in this version")
      ->check(CLI::IsMember({"text", "json", "markdown", "html", "sarif", "junit"}));
  app.add_option("-o", options->output, "file to write to, instead of standard output");
  app.add_option("--fail-on", options->fail_on, "severity from which the exit code is 1")
      ->check(CLI::IsMember({"none", "info", "warning", "error"}));
  app.add_option("--only", options->only, "findings to look for, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  for (const char* name : {"--baseline", "--suppress", "--shard"})
    app.add_option(name, options->later, "not in this version")->expected(1);
  app.add_flag_callback(
      "--mpi", [options] { options->later.push_back("--mpi"); }, "not in this version");
  return [options] { return report(*options); };
}

}  // namespace ddpscope::commands
