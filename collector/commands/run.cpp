// ddpscope run: the job, recorded; at its end a summary on standard error.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "collector/analysis/analyze.h"
#include "collector/commands/command.h"
#include "collector/commands/job_environment.h"
#include "collector/commands/job_process.h"
#include "collector/commands/terminal_progress.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"

namespace ddpscope::commands {
namespace {

struct RunOptions {
  RecordingOptions recording;
  std::string folder;
  std::string on_hang;
  bool report = false;
  std::vector<std::string> command;
};

void print_nothing_recorded() {
  fmt::print(stderr,
             "ddpscope: no process of the job recorded anything: its environment was scrubbed of LD_PRELOAD, "
             "it is a "
             "static binary, or it made no call that is recorded\n");
}

std::uint64_t device_calls(const model::Job& job) {
  std::uint64_t sum = 0;
  for (const model::Process& process : job.processes)
    sum += process.calls[static_cast<std::size_t>(model::CallClass::kCuda)] +
           process.calls[static_cast<std::size_t>(model::CallClass::kNccl)];
  return sum;
}

std::string count_findings(const std::vector<findings::Finding>& found) {
  std::map<findings::Severity, int, std::greater<>> counts;
  for (const findings::Finding& finding : found) ++counts[finding.severity];
  std::string text;
  for (auto [severity, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, findings::name_of(severity));
  return text.empty() ? "nothing found" : "found: " + text;
}

void print_summary(const RunOptions& options, const std::filesystem::path& folder) {
  if (!reading::holds_traces(folder)) return print_nothing_recorded();
  std::optional<Result<analysis::Analysis>> analysis;
  {
    TerminalProgress progress;
    analysis = analysis::analyze(folder, {}, progress);
  }
  if (!*analysis) {
    fmt::print(stderr, "ddpscope: {}\n", reports::escape(analysis->error().what));
    return;
  }
  const model::Job& job = (*analysis)->job;
  fmt::print(stderr, "ddpscope: {} ranks, {} processes, {} events, {} dropped, {:.1f} s; {}\n",
             job.ranks().size(), job.processes.size(), job.calls(), job.lost(),
             static_cast<double>(job.duration_ns) * 1e-9, count_findings((*analysis)->outcome.findings));
  fmt::print(stderr, "ddpscope: trace in {0}; `ddpscope report {0}` tells more\n",
             reports::escape(folder.string()));
  if (options.recording.stand_ins && device_calls(job) == 0)
    fmt::print(stderr, "ddpscope: the job made no CUDA or NCCL call: the stand-ins of --cpu were not used\n");
  if (options.report) fmt::print(stderr, "\n{}", reports::text_report(job, (*analysis)->outcome));
}

Outcome run(const RunOptions& options) {
  if (!options.on_hang.empty()) return not_in_this_version("--on-hang");
  std::filesystem::path folder = options.folder;
  if (folder.empty()) folder = default_folder(options.command);
  folder = std::filesystem::absolute(folder).lexically_normal();
  auto environment = job_environment(options.recording, folder);
  if (!environment) return failed(environment.error());
  if (auto problem = prepare_folder(folder)) return failed(*problem);
  auto code = run_job(options.command, *environment);
  if (!code) return failed(code.error());
  print_summary(options, folder);
  return {*code, {}};
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  app.add_option("-o", options->folder, "folder to record into (default ./ddpscope.JOB.START)");
  app.add_flag("--cpu", options->recording.stand_ins,
               "put stand-ins for CUDA and NCCL in front: no GPU needed");
  app.add_option("--ring", options->recording.ring,
                 "memory a process may fill with bulk records: 64M by default");
  app.add_option("--gpu-timing", options->recording.gpu_timing, "how GPU times are taken")
      ->check(CLI::IsMember({"auto", "none", "events", "cupti"}));
  app.add_flag("--report", options->report, "print the findings at the end");
  app.add_option("--on-hang", options->on_hang, "command to run once when the job stalls");
  app.add_option("CMD", options->command, "the job, after --")->required();
  app.positionals_at_end();
  return [options] { return run(*options); };
}

}  // namespace ddpscope::commands
