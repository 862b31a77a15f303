// Job, then processes, then collectives.
#include "collector/merged/job_info.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "collector/matching/group_collectives.h"
#include "collector/model/device_work.h"
#include "collector/model/nccl_types.h"
#include "collector/model/order_statistics.h"
#include "collector/model/process_name.h"
#include "collector/model/unhooked.h"
#include "collector/patterns/collective_summary.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/step_summary.h"
#include "collector/reports/escape.h"
#include "collector/reports/phrases.h"
#include "collector/reports/report.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::merged {
namespace {

using model::Job;
using model::Process;
using reports::escape;
using reports::seconds;

template <class... Values>
void add(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

std::size_t files_of_role(const Job& job, model::Role role) {
  std::size_t count = 0;
  for (const Process& process : job.processes) count += process.role == role;
  return count;
}

std::string how_aligned(const Job& job, const model::Host& host) {
  switch (host.alignment) {
    case model::Alignment::kNoExchange:
      return ", by its wall clock: nothing that passed between hosts tells more";
    case model::Alignment::kContradiction:
      return ", by its wall clock: its clock was set, or stood still";
    default:
      break;
  }
  const model::Host& line = job.hosts[host.group];
  if (&line == &host) return ", the line of its group";
  return fmt::format(
      ", at most {:.1f} us from {}{}", static_cast<double>(host.clock_error_ns) * 1e-3, escape(line.name),
      host.alignment == model::Alignment::kUnsteady ? ", which it did not keep one rate with" : "");
}

void add_job(std::string& text, const Job& job) {
  auto start = static_cast<std::time_t>(job.start_unix_ns / 1'000'000'000u);
  add(text, "job       {} on {} host{}, {}, attempt {}{}\n", reports::size_text(reports::facts_of(job)),
      job.hosts.size(), job.hosts.size() == 1 ? "" : "s", reports::world_text(job.world_size), job.attempt,
      job.other_attempts ? fmt::format(" ({} other attempt{} in the folder)", job.other_attempts,
                                       job.other_attempts == 1 ? "" : "s")
                         : "");
  add(text, "roles     {} rank, {} worker, {} launcher, {} other\n", files_of_role(job, model::Role::kRank),
      files_of_role(job, model::Role::kWorker), files_of_role(job, model::Role::kLauncher),
      files_of_role(job, model::Role::kOther));
  for (const std::string& sentence : model::to_sentences(job.unrecorded))
    add(text, "missing   {}\n", escape(sentence));
  add(text, "time      {:%Y-%m-%d %H:%M:%S} UTC, {:.3f} s\n", fmt::gmtime(start), seconds(job.duration_ns));
  add(text, "events    {}, dropped {}\n", job.calls(), job.lost());
  if (job.clock_error_ns < model::kUnaligned)
    add(text, "clock     hosts are at most {:.1f} us apart\n",
        static_cast<double>(job.clock_error_ns) * 1e-3);
  else
    add(text, "clock     not all hosts are aligned: how far they are apart is not known\n");
  for (const model::Host& host : job.hosts)
    add(text, "host      {} (id {:016x}), {:.9f} ns a tick{}\n", escape(host.name), host.id,
        host.clock.ns_per_tick(), job.hosts.size() > 1 ? how_aligned(job, host) : "");
}

std::string how_it_ended(const Process& process) {
  const trace::FileHeader& h = process.header();
  if (h.ended) return fmt::format("exit code {}", h.exit_code);
  if (process.ended_status > 128) return fmt::format("ended by signal {}", process.ended_status - 128);
  return process.ended_ticks ? "ended without an exit of its own: a signal, or system calls past libc"
                             : "no end seen: it still runs, or was killed";
}

void add_calls(std::string& text, const Process& process) {
  std::string calls;
  for (std::size_t i = 0; i < model::kCallClasses; ++i)
    if (process.calls[i])
      calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ",
                           model::name_of(static_cast<model::CallClass>(i)), process.calls[i]);
  add(text, "  calls     {}\n", calls.empty() ? "none" : calls);
  if (process.ranges || process.marks)
    add(text, "  nvtx      {} range{}, {} mark{}\n", process.ranges, process.ranges == 1 ? "" : "s",
        process.marks, process.marks == 1 ? "" : "s");
}

std::string how_steps_end(const Job& job, std::uint32_t process, const patterns::Update& update) {
  const trace::TraceFile& file = job.processes[process].file;
  constexpr std::size_t kShown = 60;
  if (update.range)
    return fmt::format("by the program's range \"{}\" (likely)", escape(file.string(update.range)));
  auto launch = trace::payload_of<trace::payload::Launch>(job.record({process, update.launch}));
  std::string kernel = symbols::demangled(std::string(file.string(launch.name)).c_str());
  return fmt::format("by the name of the kernel {} (certain)", escape(symbols::shortened(kernel, kShown)));
}

// Who cares for the gradients, whether they are reduced or not.
const char* wrapper_of(const patterns::FrameworkSteps& found) {
  bool reducer = false, sharded = false;
  for (const patterns::FrameworkStep& step : found.steps)
    for (const patterns::BackwardPass& pass : step.passes)
      for (patterns::Reducer given : pass.given) (given == patterns::kSharded ? sharded : reducer) = true;
  return reducer && sharded ? "DistributedDataParallel and FSDP"
         : reducer          ? "DistributedDataParallel"
         : sharded          ? "FSDP"
                            : "neither DistributedDataParallel nor FSDP";
}

std::string name_of_step(const Job& job, const patterns::FrameworkStep& step) {
  if (!step.is_named) return "by parameters that had changed after backward passes (likely)";
  auto optimizer = trace::payload_of<trace::payload::TrainingCall>(job.record(step.optimizer));
  std::string_view name = job.processes[step.optimizer.process].file.string(optimizer.name);
  return fmt::format("by PyTorch's call {} (certain)", escape(name));
}

// False: none are known by PyTorch's calls.
bool add_framework_steps(std::string& text, const Job& job, std::uint32_t process) {
  patterns::FrameworkSteps found = patterns::find_framework_steps(job, process);
  if (found.steps.empty()) return false;
  std::vector<std::size_t> passes;
  for (const patterns::FrameworkStep& step : found.steps) passes.push_back(step.passes.size());
  add(text, "  steps     {}, {}\n", found.steps.size(), name_of_step(job, found.steps.back()));
  add(text, "  micro-batches {} a step, by backward passes (certain)\n",
      model::value_at(passes, (passes.size() - 1) / 2));
  add(text, "  gradients of {}\n", wrapper_of(found));
  return true;
}

void add_steps(std::string& text, const Job& job, const matching::Collectives& collectives,
               std::uint32_t process) {
  if (add_framework_steps(text, job, process)) return;
  patterns::StepSummary summary = patterns::summarise_steps(job, collectives, process);
  if (summary.example) {
    add(text, "  steps     {}, {}\n", summary.steps, how_steps_end(job, process, *summary.example));
    constexpr const char* kSigns[] = {"by what is copied to the device (likely)",
                                      "by reductions that repeat (possible)"};
    if (summary.sign != patterns::MicroBatchSign::kNone)
      add(text, "  micro-batches {} a step, {}\n", summary.micro_batches,
          kSigns[static_cast<std::size_t>(summary.sign)]);
  } else if (summary.reductions > 0) {
    add(text, "  steps     not known: neither a kernel nor a range (NVTX) is called an optimizer's\n");
  }
}

// How its device work was timed, and since when.
void add_device_times(std::string& text, const Job& job, std::uint32_t index) {
  for (const model::TimingPeriod& period : model::timing_periods(job, index))
    add(text, "  gpu times {} from {:.3f} s{}\n", escape(period.tier), seconds(period.from_ns),
        period.reason.empty() ? "" : fmt::format(": {}", escape(period.reason)));
  if (std::string why = model::why_untimed(job, index); !why.empty())
    add(text, "  gpu times none: {}\n", escape(why));
  std::size_t count = 0;
  for (const trace::DeviceSpan& span : job.processes[index].file.device_work()) count += span.work.size();
  if (count == 0) return;
  std::int64_t error_ns = model::device_clock_error_ns(job, index);
  add(text, "  gpu work  {} intervals, of a clock that is right to {:.1f} us\n", count,
      static_cast<double>(error_ns) * 1e-3);
}

std::string function_of(std::uint8_t function) {
  const char* name = matching::name_of(trace::operation_of(function));
  return name ? name : fmt::format("function {}", function);
}

// What NCCL itself told: of communicators that no hook saw, and how it runs collectives.
void add_told_by_nccl(std::string& text, const Process& process) {
  for (const model::UnhookedCommunicator& known : model::unhooked_communicators(process)) {
    std::string place = known.rank < 0 ? "" : fmt::format(" rank {} of {}", known.rank, known.size);
    std::string name = known.name.empty() ? "" : fmt::format(" \"{}\"", escape(known.name));
    add(text, "  communicator {}{}{} (id {:016x}) seen by no hook: {} operations told {}\n", known.number,
        name, place, known.id, known.operations, model::teller_text(known.told_by));
  }
  constexpr std::size_t kShown = 12;
  std::vector<model::CollectiveChoice> choices = model::collective_choices(process);
  for (std::size_t i = 0; i < std::min(choices.size(), kShown); ++i)
    add(text, "  nccl runs communicator {} {} of {} {}: {}, {}, {} channel{}\n", choices[i].communicator,
        function_of(choices[i].function), choices[i].count, model::datatype_name(choices[i].datatype),
        escape(choices[i].algorithm), escape(choices[i].protocol), choices[i].channels,
        choices[i].channels == 1 ? "" : "s");
  if (choices.size() > kShown) add(text, "  nccl runs {} kinds more\n", choices.size() - kShown);
}

void add_process(std::string& text, const Job& job, const Process& process) {
  const trace::FileHeader& h = process.header();
  std::string rank = process.rank < 0 ? "" : fmt::format(" {}", process.rank);
  std::string source = *process.rank_source ? fmt::format(" (by {})", process.rank_source) : "";
  add(text, "\n{} {}{}{}, parent {}\n", escape(model::process_name(job, process)),
      model::name_of(process.role), rank, source, h.parent_pid);
  std::string command;
  for (std::string_view word : process.arguments) command += (command.empty() ? "" : " ") + escape(word);
  if (!command.empty()) add(text, "  command   {}\n", command);
  add(text, "  file      {} ({} bytes, format {})\n", escape(process.file.name()), process.file.bytes(),
      h.version);
  add(text, "  time      {:.3f} s to {:.3f} s, {}\n", seconds(process.first_ns), seconds(process.last_ns),
      how_it_ended(process));
  add_calls(text, process);
  add(text, "  tables    {} threads, {} files opened, {} strings, {} stacks\n", h.threads, h.files, h.strings,
      h.stacks);
  for (const model::Membership& member : process.memberships)
    add(text, "  communicator {} rank {} of {} (id {:016x})\n", member.communicator, member.rank, member.size,
        member.id);
  add_told_by_nccl(text, process);
  for (const trace::HealthInfo& row : trace::kHealth)
    if (std::uint64_t count = process.file.health(row.index))
      add(text, "  {:9} {} {}: {}\n", row.severity, row.name, count, row.sentence);
  for (const std::string& sentence : process.file.damage()) add(text, "  damage    {}\n", escape(sentence));
}

// "512 B", "4 KiB", "16 MiB" of 2^bits.
std::string size_of(std::uint32_t bits) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return fmt::format("{} {}", std::uint64_t{1} << bits % 10, kUnits[bits / 10]);
}

// What collectives took by themselves, and how long the first member waited for the last.
void add_collective_times(std::string& text, const Job& job, const matching::Collectives& collectives,
                          const patterns::CollectiveTimes& times) {
  std::vector<patterns::CollectiveClass> rows = patterns::summarise_collective_times(job, collectives, times);
  if (rows.empty()) return;
  add(text, "\n{:<16}{:>6}{:>10}{:>9}{:>14}{:>14}{:>14}\n", times.on_hosts() ? "on Gloo" : "collectives",
      "ranks", "size from", "timed", "transfer", "longest wait", "bus bandwidth");
  for (const patterns::CollectiveClass& row : rows)
    add(text, "{:<16}{:>6}{:>10}{:>9}{:>11.3f} ms{:>11.3f} ms{:>9.2f} GB/s\n",
        matching::name_of(row.operation), row.ranks, size_of(row.size), row.count,
        static_cast<double>(row.transfer_ns) * 1e-6, static_cast<double>(row.wait_ns) * 1e-6,
        row.bytes_per_second * 1e-9);
}

}  // namespace

std::string info_of(const Job& job, const matching::Collectives& collectives,
                    const patterns::CollectiveTimes& times) {
  std::string text;
  add_job(text, job);
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    add_process(text, job, job.processes[i]);
    add_device_times(text, job, i);
    if (job.processes[i].role == model::Role::kRank) add_steps(text, job, collectives, i);
  }
  add_collective_times(text, job, collectives, times);
  matching::Collectives groups = matching::find_group_collectives(job);
  add_collective_times(text, job, groups, patterns::CollectiveTimes::of_runs(job, groups));
  return text;
}

}  // namespace ddpscope::merged
