// ddpscope report: what is wrong with a job.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "collector/analysis/analyze.h"
#include "collector/commands/command.h"
#include "collector/commands/input_file.h"
#include "collector/commands/merged_file.h"
#include "collector/commands/output_file.h"
#include "collector/commands/pictures.h"
#include "collector/commands/terminal_progress.h"
#include "collector/findings/catalogue.h"
#include "collector/gate/known_findings.h"
#include "collector/reports/format.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

struct ReportOptions {
  TraceOptions of;
  std::string format = "text";
  std::optional<std::string> output;  // a file; none: standard output
  std::string fail_on = "error";
  bool fail_on_failure = false;
  std::vector<std::string> only;
  std::optional<std::string> baseline, suppress;  // files
  std::vector<std::string> later;                 // given to options of the contract that this version lacks
};

std::optional<Error> check(const ReportOptions& options) {
  for (const std::string& slug : options.only)
    if (!findings::find_row(slug))
      return Error{"there is no finding '" + slug + "'", "", "`ddpscope explain` lists them"};
  if (options.fail_on_failure && !options.only.empty())
    return Error{"whether a finding explains a failure is known only if all are looked for", "",
                 "leave out --only, or --fail-on-failure"};
  return options.output ? check_output(*options.output) : std::nullopt;
}

using FailFrom = std::optional<findings::Severity>;  // none: whatever is found, the exit code is 0

bool reaches(const findings::Outcome& outcome, FailFrom from) {
  return from &&
         std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const findings::Finding& finding) {
           return finding.severity >= *from && finding.known_by == findings::KnownBy::kNobody;
         });
}

// What is known of findings before they are looked for: a mistake in these files is told before an analysis.
struct Known {
  std::optional<gate::Baseline> baseline;
  std::vector<gate::Suppression> suppressions;
};

Result<Known> read_known(const ReportOptions& options) {
  Known known;
  if (options.baseline) {
    auto baseline = read_and_parse(*options.baseline, gate::parse_baseline);
    if (!baseline) return baseline.error();
    known.baseline = std::move(*baseline);
  }
  if (options.suppress) {
    auto suppressions = read_and_parse(*options.suppress, gate::parse_suppressions);
    if (!suppressions) return suppressions.error();
    known.suppressions = std::move(*suppressions);
  }
  return known;
}

// Empty where there is none any more.
std::string working_folder() {
  std::error_code none;
  return std::filesystem::current_path(none).string();
}

// What a report is made of.
struct Reported {
  reports::JobFacts job;
  findings::Outcome outcome;
  std::vector<Error> errors, warnings;
};

// Suppressions that have expired are errors: whoever set the day wants to be asked then. One that matches
// nothing may be out of date.
void apply_known(const Known& known, const std::string& file, Reported& found) {
  std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  for (const gate::Suppression* idle : gate::apply(known.suppressions, today, found.outcome))
    found.warnings.push_back({fmt::format("line {}: {} was not found", idle->line, idle->finding), file, ""});
  for (const gate::Suppression& suppression : known.suppressions)
    if (gate::expired(suppression, today))
      found.errors.push_back(
          {fmt::format("line {}: the suppression of {} has expired on {}", suppression.line,
                       suppression.finding, gate::to_text(*suppression.until)),
           file, "take the line out, or give it another day"});
  if (known.baseline) gate::apply(*known.baseline, found.outcome);
}

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
  const reports::Format& format = *reports::find_format(options.format);
  if (!options.later.empty()) return not_in_this_version("--mpi and --shard");
  if (auto problem = check(options)) return failed(*problem);
  auto known = read_known(options);
  if (!known) return failed(known.error());
  auto found = merged::is_merged_file(options.of.trace) ? read_merged(options) : analyze(options);
  if (!found) return failed(found.error());
  apply_known(*known, options.suppress.value_or(""), *found);
  FailFrom from = findings::severity_named(options.fail_on);
  reports::Report facts{found->job, found->outcome,  DDPSCOPE_VERSION, from, options.fail_on_failure,
                        {},         working_folder()};
  if (format.shows_pictures) facts.pictures = take_pictures(options.of, found->outcome.findings);
  std::string text = format.write(facts);
  bool failed_alone = options.fail_on_failure && !reports::unexplained_failure_text(found->outcome).empty();
  Outcome outcome{reaches(found->outcome, from) || failed_alone ? kFindings : kNothingFound,
                  std::move(found->errors), std::move(found->warnings)};
  std::optional<Error> problem;
  if (!options.output)
    fmt::print("{}", text);
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
  app.add_option("--format", options->format, "text, json, markdown, html, sarif or junit")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "markdown", "html", "sarif", "junit"}));
  app.add_option("-o", options->output, "file to write to, instead of standard output")->type_name("FILE");
  app.add_option("--fail-on", options->fail_on, "severity from which the exit code is 1")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"none", "info", "warning", "error"}));
  app.add_flag("--fail-on-failure", options->fail_on_failure,
               "exit code 1, too, if ranks failed and no finding explains it");
  app.add_option("--only", options->only, "findings to look for, separated by commas")
      ->type_name("SLUG")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
         "--baseline", options->baseline,
         "an earlier report in JSON, or a summary: what it has, no less severe, is known and fails nothing")
      ->type_name("FILE");
  app.add_option("--suppress", options->suppress,
                 "a file of findings that fail nothing: id or slug, until when, and why")
      ->type_name("FILE");
  // Refused in words of their own, and listed nowhere: no group.
  app.add_option("--shard", options->later)->expected(1)->group("");
  app.add_flag_callback("--mpi", [options] { options->later.push_back("--mpi"); })->group("");
  return [options] { return report(*options); };
}

}  // namespace ddpscope::commands
