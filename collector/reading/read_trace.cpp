// Files to processes, processes to one job.
#include "collector/reading/read_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "collector/reading/census.h"
#include "collector/reading/copies.h"
#include "collector/reading/endings.h"
#include "collector/reading/generations.h"
#include "collector/reading/growth.h"
#include "collector/reading/identity.h"
#include "collector/reading/unrecorded.h"

namespace ddpscope::reading {
namespace {

namespace fs = std::filesystem;
using model::Job;
using model::Process;
using trace::TraceFile;

bool has_suffix(const fs::path& path) { return path.extension() == trace::kFileSuffix; }

// One that leads nowhere, is no regular file or cannot be read counts too: opening it will say so.
std::vector<fs::path> traces_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (has_suffix(it->path()) && !it->is_directory(ignored)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Error no_trace_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return {"the file holds what `ddpscope run` saw of a job, no trace of a process", folder.string(),
            "name the folder"};
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && !traces_in(it->path(), ignored).empty())
      return {"the folder holds no trace", folder.string(),
              fmt::format("{} below it does", it->path().filename().string())};
  }
  std::string hint = fmt::format("{}", fmt::join(model::to_sentences(find_unrecorded(folder)), "; "));
  if (!hint.empty()) return {"the folder holds no trace", folder.string(), std::move(hint)};
  return {"the folder holds no trace", folder.string(),
          "record one with `ddpscope run -o DIR -- COMMAND`; a process writes its file at its first recorded "
          "call"};
}

Result<std::vector<fs::path>> find_files(const fs::path& trace) {
  std::error_code error;
  fs::file_status status = fs::status(trace, error);
  if (status.type() == fs::file_type::not_found)
    return Error{"there is no such file or folder", trace.string(),
                 "name the folder that `ddpscope run -o` filled"};
  if (!fs::status_known(status)) return Error{"cannot be opened: " + error.message(), trace.string(), ""};
  if (!fs::is_directory(status)) return std::vector<fs::path>{trace};
  std::vector<fs::path> files = traces_in(trace, error);
  if (error)
    return Error{"cannot list the folder: " + error.message(), trace.string(),
                 error == std::errc::permission_denied
                     ? "a trace belongs to the user who recorded it (mode 0700)"
                     : ""};
  if (files.empty()) return no_trace_in(trace);
  return files;
}

// What is damaged is an error for the exit code, though all that is sound is analysed.
void tell_damage(const TraceFile& file, std::vector<Error>& errors) {
  if (file.damage().empty()) return;
  std::string what = "the trace file is damaged: " + file.damage().front();
  if (file.damage().size() > 1) what += fmt::format(" (and {} more)", file.damage().size() - 1);
  errors.push_back(
      {std::move(what), file.name(), "what is sound in it was analysed; `ddpscope info` tells the rest"});
}

// Hosts are told apart by their boot ids. Of those with one name (images of one machine) the second gets a
// number.
void add_hosts(Job& job) {
  std::map<std::string, std::size_t> of_name;
  for (Process& process : job.processes) {
    const trace::FileHeader& h = process.header();
    auto same = [&](const model::Host& host) { return host.id == h.host_id; };
    auto found = std::find_if(job.hosts.begin(), job.hosts.end(), same);
    process.host = static_cast<std::uint32_t>(found - job.hosts.begin());
    if (found != job.hosts.end()) continue;
    std::string name(process.file.host());
    if (std::size_t number = ++of_name[name]; number > 1) name += fmt::format("#{}", number);
    job.hosts.push_back({h.host_id, std::move(name), trace::ClockLine(h.clock, 0, {}), 0});
  }
}

std::string name_job(const Process& process) {
  return fmt::format("pid {} on {}", process.header().pid, process.file.host());
}

// What was damaged may have lost what it shares with the others: it is left out, unless there is nothing
// else.
void leave_out_damaged_jobs(const Job& job, Components& components) {
  std::set<std::uint32_t> sound;
  for (std::size_t i = 0; i < job.processes.size(); ++i)
    if (job.processes[i].file.damage().empty()) sound.insert(components.of_process[i]);
  auto damaged = [&](std::uint32_t component) { return sound.count(component) == 0; };
  if (!std::all_of(components.jobs.begin(), components.jobs.end(), damaged))
    std::erase_if(components.jobs, damaged);
}

// The components of the one job in the folder: one, or its attempts in order.
Result<std::vector<std::uint32_t>> choose_job(const Job& job, Components components, const fs::path& trace) {
  if (components.jobs.empty()) return std::vector{components.of_process.front()};
  if (auto strangers = sort_attempts(job.processes, components))
    return Error{fmt::format("the folder holds {} jobs that share nothing (one with {}, one with {})",
                             components.jobs.size(), name_job(job.processes[strangers->first]),
                             name_job(job.processes[strangers->second])),
                 trace.string(), "move each job's files into a folder of its own"};
  return components.jobs;
}

// A launcher serves all attempts of its run.
bool serves(const Process& shared, const std::vector<Process>& processes, std::int32_t attempt) {
  return run_of(shared).empty() ||
         std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
           return process.attempt == attempt && run_of(process) == run_of(shared);
         });
}

// Moves those wanted to the end of another list; indices change.
void move_to(std::vector<Process>& to, std::vector<Process>& from, const std::vector<bool>& wanted) {
  std::vector<std::int32_t> moved(from.size(), -1);
  const std::size_t first = to.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!wanted[i]) continue;
    moved[i] = static_cast<std::int32_t>(to.size());
    to.push_back(std::move(from[i]));
  }
  for (std::size_t i = first; i < to.size(); ++i)
    if (to[i].parent >= 0) to[i].parent = moved[static_cast<std::size_t>(to[i].parent)];
}

// Each component by itself, as ranks are numbered anew in each; those of a later one come after all attempts
// of the one before.
void identify_in_order(Job& job, const std::vector<std::uint32_t>& of_process,
                       const std::vector<std::uint32_t>& components) {
  std::vector<Process> all;
  std::int32_t attempts = 0;
  for (std::uint32_t component : components) {
    Job part;
    std::vector<bool> wanted;
    for (std::uint32_t its : of_process) wanted.push_back(its == component);
    move_to(part.processes, job.processes, wanted);
    identify(part);
    std::int32_t last = 0;
    for (Process& process : part.processes) {
      process.attempt += attempts;
      last = std::max(last, process.attempt);
    }
    attempts = std::min(last, kMostAttempts) + 1;
    move_to(all, part.processes, std::vector<bool>(part.processes.size(), true));
  }
  job.processes = std::move(all);
}

std::optional<Error> keep_attempt(Job& job, std::int32_t wanted, const fs::path& trace) {
  std::set<std::int32_t> attempts;
  for (const Process& process : job.processes) attempts.insert(process.attempt);
  const std::int32_t last = *attempts.rbegin();
  if (wanted >= 0 && !attempts.contains(wanted))
    return Error{fmt::format("there is no attempt {}", wanted), trace.string(),
                 fmt::format("the folder holds attempt {}", fmt::join(attempts, ", "))};
  job.attempt = wanted < 0 ? last : wanted;
  std::vector<std::int32_t> others;
  std::vector<bool> kept;
  for (const Process& process : job.processes) {
    bool shared = process.role == model::Role::kLauncher || process.role == model::Role::kOther;
    kept.push_back(shared ? serves(process, job.processes, job.attempt) : process.attempt == job.attempt);
    bool known = std::find(others.begin(), others.end(), process.attempt) != others.end();
    if (!kept.back() && !known) others.push_back(process.attempt);
  }
  job.other_attempts = static_cast<std::int32_t>(others.size());
  std::vector<Process> left;
  move_to(left, job.processes, kept);
  job.processes = std::move(left);
  job.world_size = find_world_size(job.processes);  // a further attempt may have another number of ranks
  return std::nullopt;
}

}  // namespace

std::size_t count_traces(const fs::path& folder) {
  auto files = find_files(folder);
  return files ? files->size() : 0;
}

bool holds_command(const fs::path& folder, std::string_view command) {
  auto files = find_files(folder);
  return files && std::any_of(files->begin(), files->end(), [&](const fs::path& path) {
           auto file = TraceFile::open(path, trace::Extent::kLatest);
           if (!file) return false;
           Process process{.file = std::move(*file)};
           take_census(process);
           return setting(process, "DDPSCOPE_COMMAND") == command;
         });
}

Result<Reading> read_trace(const fs::path& trace, Progress& progress, std::int32_t attempt,
                           trace::Extent extent) {
  auto files = find_files(trace);
  if (!files) return files.error();
  Reading reading;
  Job& job = reading.job;
  for (std::size_t i = 0; i < files->size(); ++i) {
    progress.at("reading", i, files->size());
    auto file = TraceFile::open((*files)[i], extent);
    if (!file) {
      reading.errors.push_back(file.error());
      continue;
    }
    job.processes.push_back(Process{.file = std::move(*file)});
  }
  if (auto told = leave_out_copies(job.processes)) reading.warnings.push_back(*told);
  for (Process& process : job.processes) {
    tell_damage(process.file, reading.errors);
    take_census(process);
  }
  unite_grown(job.processes);
  Watched watched = take_endings(job.processes);
  if (job.processes.empty()) return reading.errors.empty() ? no_trace_in(trace) : reading.errors.front();
  link_parents(job.processes);
  tell_missing_makers(watched, job.processes);
  complete_environments(job.processes);
  Components components = find_components(job.processes);
  leave_out_damaged_jobs(job, components);
  auto chosen = choose_job(job, components, trace);
  if (!chosen) return chosen.error();
  identify_in_order(job, components.of_process, *chosen);
  if (auto problem = keep_attempt(job, attempt, trace)) return *problem;
  add_hosts(job);
  job.unrecorded = find_unrecorded(trace, job.processes);
  return reading;
}

}  // namespace ddpscope::reading
