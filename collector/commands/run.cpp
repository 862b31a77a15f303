// ddpscope run: the job, recorded; at its end a summary on standard error.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "collector/analysis/analyze.h"
#include "collector/analysis/coverage.h"
#include "collector/commands/command.h"
#include "collector/commands/command_name.h"
#include "collector/commands/exec_words.h"
#include "collector/commands/folder_use.h"
#include "collector/commands/hang_watch.h"
#include "collector/commands/job_environment.h"
#include "collector/commands/job_process.h"
#include "collector/commands/job_sight.h"
#include "collector/commands/preload_check.h"
#include "collector/commands/recording_folder.h"
#include "collector/commands/say.h"
#include "collector/commands/shell_word.h"
#include "collector/commands/terminal_progress.h"
#include "collector/commands/wait_for_rest.h"
#include "collector/commands/write_back.h"
#include "collector/detectors/process_ending.h"
#include "collector/reading/unrecorded.h"
#include "collector/reports/escape.h"
#include "collector/reports/report.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

using reports::escape;

struct RunOptions {
  RecordingOptions recording;
  std::optional<std::string> folder;
  std::string on_hang;
  std::optional<int> wait;  // seconds
  bool report = false;
  bool must_record = false;
  std::vector<std::string> command;
};

std::uint64_t count_calls(const model::Job& job, model::CallClass call_class) {
  std::uint64_t sum = 0;
  for (const model::Process& process : job.processes)
    sum += process.calls[static_cast<std::size_t>(call_class)];
  return sum;
}

// Which stand-ins had nothing to do, or answered only calls that are not recorded, such as
// cudaGetDeviceCount.
void say_what_was_not_used(const model::Job& job) {
  bool cuda = count_calls(job, model::CallClass::kCuda) > 0,
       nccl = count_calls(job, model::CallClass::kNccl) > 0;
  if (!cuda && !nccl)
    say("ddpscope: no call of CUDA or NCCL was recorded: the job may not need --cpu\n");
  else if (!cuda)
    say("ddpscope: the job made NCCL calls, but none of the CUDA runtime's: it has a CUDA runtime of its own "
        "(nvcc links it statically, unless told -cudart shared), which the stand-in of --cpu cannot "
        "replace\n");
}

// Silence is not taken for health.
std::string tell_silence(const analysis::Analysis& analysis) {
  if (analysis.nothing_judged) return "nothing could be judged";
  auto unjudged = analysis::find_unjudged(analysis.outcome.coverage);
  std::string text = "nothing found";
  if (std::size_t count = unjudged.entirely.size())
    text += fmt::format(", {} finding{} not judged", count, count == 1 ? "" : "s");
  if (std::size_t count = unjudged.in_part.size())
    text += fmt::format(", {} {}judged in part only", count, text == "nothing found" ? "findings " : "");
  return text;
}

std::string count_findings(const analysis::Analysis& analysis) {
  std::map<findings::Severity, int, std::greater<>> counts;
  for (const findings::Finding& finding : analysis.outcome.findings) ++counts[finding.severity];
  std::string text;
  for (auto [severity, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, findings::name_of(severity));
  return text.empty() ? tell_silence(analysis) : "found: " + text;
}

void say_what_was_lost(const model::Job& job) {
  std::string text;
  for (const trace::HealthInfo& row : trace::kHealth) {
    std::uint64_t count = 0;
    for (const model::Process& process : job.processes) count += process.file.health(row.index);
    if (count > 0 && std::string_view(row.severity) == "loss")
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, row.name);
  }
  if (!text.empty()) say("ddpscope: recording is not complete: {}\n", text);
}

void say_what_had_no_file(const std::vector<model::Unrecorded>& unrecorded) {
  for (const std::string& sentence : model::to_sentences(unrecorded)) say("ddpscope: {}\n", escape(sentence));
}

void say_what_was_found(const RunOptions& options, const analysis::Analysis& analysis) {
  const model::Job& job = analysis.job;
  say("ddpscope: {}, {} events, {} dropped, {:.1f} s; {}\n", reports::size_text(reports::facts_of(job)),
      job.calls(), job.lost(), static_cast<double>(job.duration_ns) * 1e-9, count_findings(analysis));
  if (job.other_attempts)
    say("ddpscope: this is attempt {}, the last; the folder holds {} more, see `report --attempt`\n",
        job.attempt, job.other_attempts);
  if (std::string failed = reports::unexplained_failure_text(analysis.outcome); !failed.empty())
    say("ddpscope: {}\n", failed);
  if (const auto& failure = analysis.outcome.first_failure)
    say("ddpscope: {}\n", reports::first_failure_text(*failure));
  say_what_was_lost(job);
  say_what_had_no_file(job.unrecorded);
  for (const Error& told : analysis.warnings)
    say("ddpscope: {}: {}\n", escape(told.where), escape(told.what));
  for (std::size_t i = 0; i < std::min(analysis.errors.size(), kErrorsShown); ++i)
    say("ddpscope: {}: {}\n", escape(analysis.errors[i].where), escape(analysis.errors[i].what));
  if (options.recording.stand_ins) say_what_was_not_used(job);
}

Result<analysis::Analysis> analyze(const std::filesystem::path& folder) {
  TerminalProgress progress;
  try {
    trace::Identity here = trace::read_identity();
    return analysis::analyze(folder, {}, progress, &here);
  } catch (const std::exception& error) {  // whatever it is: the job's exit code counts
    return Error{error.what(), folder.string(), ""};
  }
}

// Marks of an earlier job may lie there, too.
bool say_that_none_had_a_file(const std::filesystem::path& folder, const std::string& run) {
  std::vector<model::Unrecorded> unrecorded = reading::find_unrecorded(folder);
  std::erase_if(unrecorded, [&](const model::Unrecorded& process) { return process.run != run; });
  say_what_had_no_file(unrecorded);
  return !unrecorded.empty();
}

// `causes`: what was seen of its processes.
void say_that_nothing_was_recorded(const std::filesystem::path& folder, const std::string& run,
                                   const std::string& causes) {
  if (say_that_none_had_a_file(folder, run)) return;
  say("ddpscope: no process of the job recorded anything: {}\n", causes);
  if (reading::count_traces(folder) > 0)
    say("ddpscope: the traces in {} are those of an earlier job\n", escape(folder.string()));
}

struct HowItEnded {
  int code;
  bool recorded;                         // anything of it
  std::vector<RunningProcess> outlived;  // that go on without it
  std::string run;                       // its name
  std::string causes;                    // why nothing was recorded
};

void say_what_runs_on(const std::vector<RunningProcess>& outlived, const std::string& folder) {
  if (outlived.empty()) return;
  bool one = outlived.size() == 1;
  say("ddpscope: {} of its processes still run{}, and nobody waits for {}: {}. `ddpscope status {}` shows "
      "what {}\n",
      outlived.size(), one ? "s" : "", one ? "it" : "them", to_text(outlived), shell_word(folder),
      one ? "it does" : "they do");
}

void sum_up(const RunOptions& options, const std::filesystem::path& folder, const HowItEnded& ended) {
  // A shell or launcher, too, exits so after a signal has ended what it started.
  if (int signal = ended.code - 128; signal > 0 && signal <= SIGRTMAX)
    say("ddpscope: the job ended with exit code {}: {}\n", ended.code, detectors::text_of_signal(signal));
  else if (ended.code != 0)
    say("ddpscope: the job ended with exit code {}\n", ended.code);
  say_what_runs_on(ended.outlived, folder.string());
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return say(
        "ddpscope: {}: the folder is gone, and the trace with it: the job or somebody else removed or moved "
        "it\n",
        escape(folder.string()));
  if (auto problem = check_room(folder))
    say("ddpscope: {}: {}; what came after was not recorded\n", escape(problem->where), problem->what);
  if (!ended.recorded) return say_that_nothing_was_recorded(folder, ended.run, ended.causes);
  auto analysis = analyze(folder);
  if (analysis)
    say_what_was_found(options, *analysis);
  else
    say("ddpscope: the trace cannot be summed up: {}{}{}\n", escape(analysis.error().what),
        analysis.error().hint.empty() ? "" : "; ", analysis.error().hint);
  std::string path = folder.string();
  say("ddpscope: trace in {}; `ddpscope report {}` tells more\n", escape(path), shell_word(path));
  if (analysis && options.report)
    say("\n{}", reports::text_report(reports::facts_of(analysis->job), analysis->outcome));
}

// The other one records us, and of what we start nothing.
void say_if_inside_another(const std::filesystem::path& folder) {
  const char* outer = std::getenv("DDPSCOPE_TRACE");
  if (std::getenv("DDPSCOPE_RUN") && outer && *outer && folder != outer)
    say("ddpscope: inside another `ddpscope run`: the job is recorded into {}, and not into {}\n",
        escape(folder.string()), escape(outer));
}

// Another command is not refused: what the two jobs share is not known before the second one runs (runs of
// one rank each, one after the other; a further step of a Slurm job).
void say_whose_traces_are_there(const std::filesystem::path& folder, const std::string& command) {
  if (reading::holds_command(folder, command))
    say("ddpscope: {} holds traces of this command: this is its next attempt\n", escape(folder.string()));
  else
    say("ddpscope: {} holds traces of another command: `report` refuses a folder of two jobs that share "
        "nothing, -o names another one\n",
        escape(folder.string()));
}

// Returns the name of the run.
std::string name_run(const RunOptions& options, const std::filesystem::path& folder,
                     std::map<std::string, std::string>& environment) {
  std::string run = fmt::format("{:08x}{:08x}", std::random_device{}(), std::random_device{}());
  std::error_code unknown;
  environment["DDPSCOPE_TRACE"] = folder.string();
  environment["DDPSCOPE_RUN"] = run;
  environment["DDPSCOPE_COMMAND"] = name_of_command(std::filesystem::current_path(unknown), options.command);
  return run;
}

// The last of the preload list that is ours: an outer run may have put its own in front.
std::string injector_in(const std::string& preload) {
  const std::size_t name = preload.rfind("/libddpscope.so");
  const std::size_t begin = preload.substr(0, name).rfind(':');
  return preload.substr(begin == std::string::npos ? 0 : begin + 1, preload.find(':', name) - begin - 1);
}

Outcome record(const RunOptions& options, const RecordingFolder& folder,
               std::map<std::string, std::string> environment, const std::string& unrecordable) {
  std::string run = name_run(options, folder.path, environment);
  say_if_inside_another(folder.path);
  FolderUse use(folder.path);
  // Those of an earlier job; while others record, nobody knows whose they are.
  const std::size_t before = use.was_first() ? reading::count_traces(folder.path) : 0;
  if (before > 0) say_whose_traces_are_there(folder.path, environment["DDPSCOPE_COMMAND"]);
  ProcessWatch watch(folder.path, run);
  JobSight sight({injector_in(environment["LD_PRELOAD"]), folder.path}, options.command.front(),
                 unrecordable);
  bool recorded = false;
  std::vector<RunningProcess> outlived;
  auto ended = [&](int code) {
    recorded = reading::count_traces(folder.path) > before;
    outlived = watch.running();
    if (recorded) watch.finish(code);
  };
  std::optional<HangWatch> hangs;
  hangs.emplace(folder.path, use, options.on_hang);
  std::optional<WriteBack> write_back;
  write_back.emplace(folder.path, use);
  JobStart start{options.command, std::move(environment)};
  if (options.wait) start.rest = std::chrono::seconds(*options.wait);
  auto code = run_job(start, watch, sight, ended);
  hangs.reset();
  write_back.reset();
  if (!code) {
    use.leave();
    std::error_code ignored;
    if (folder.made) std::filesystem::remove(folder.path, ignored);
    return failed(code.error());
  }
  if (use.leave())
    sum_up(options, folder.path, {*code, recorded, outlived, run, recorded ? "" : sight.describe(*code)});
  else
    say("ddpscope: other runs still record into {}; the last one sums up\n", escape(folder.path.string()));
  return {*code, {}};
}

// The job comes first: it takes our place, and is as it would have been without us. Returns where it cannot.
Outcome become_unrecorded(std::vector<std::string> command, const std::string& why) {
  say("ddpscope: the job runs unrecorded: {}\n", why);
  execvp(command.front().c_str(), exec_words(command).data());
  return failed({std::string("cannot start the command: ") + std::strerror(errno), command.front(), ""});
}

Outcome run(const RunOptions& options) {
  auto environment = job_environment(options.recording);
  if (!environment) return failed(environment.error());
  PreloadCheck check = check_preload(options.command.front(), *environment);
  if (options.must_record && check.effect != PreloadEffect::kRecords)
    return failed({"the command cannot be recorded: " + check.why, options.command.front(),
                   "without --must-record it runs unrecorded"});
  if (check.effect == PreloadEffect::kFatal) return become_unrecorded(options.command, check.why);
  auto folder = open_recording_folder(options.folder, options.command);
  if (!folder) return failed(folder.error());
  return record(options, *folder, std::move(*environment), check.why);
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  app.add_option("-o", options->folder, "folder to record into (default ./ddpscope.JOB.START)")
      ->type_name("FOLDER");
  app.add_flag("--cpu", options->recording.stand_ins,
               "put stand-ins for CUDA and NCCL in front: no GPU needed");
  app.add_option("--ring", options->recording.ring,
                 "room for frequent calls, which are overwritten when it is full: 64K to 1024G a process, "
                 "64M by default")
      ->type_name("SIZE");
  app.add_option(
         "--gpu-timing", options->recording.gpu_timing,
         "when devices did what: none; events, of collectives alone, which is also auto; profiler, of "
         "collectives as NCCL tells it; cupti, of all")
      ->type_name("HOW")
      ->check(CLI::IsMember({"auto", "none", "events", "profiler", "cupti"}));
  app.add_flag("--report", options->report, "print the findings at the end");
  app.add_flag("--must-record", options->must_record,
               "exit with 2 instead of running a command that cannot be recorded");
  app.add_option("--on-hang", options->on_hang,
                 "a shell command to run once a stall, with DDPSCOPE_TRACE and DDPSCOPE_FINDING set")
      ->type_name("COMMAND");
  app.add_option("--wait", options->wait,
                 "how long to wait for recorded processes that outlive the command: 10 seconds by default, 2 "
                 "if it ended well")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86'400).description(""));
  app.add_option("CMD", options->command, "the job, after --")->type_name("")->required();
  app.positionals_at_end();
  return [options] { return run(*options); };
}

}  // namespace ddpscope::commands
