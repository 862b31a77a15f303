// ddpscope dump: every record, process by process, in the order in which the calls began.
#include <fmt/format.h>

#include "collector/alignment/align.h"
#include "collector/commands/command.h"
#include "collector/commands/merged_file.h"
#include "collector/commands/terminal_progress.h"
#include "collector/model/device_work.h"
#include "collector/model/process_name.h"
#include "collector/reports/escape.h"
#include "collector/reports/record_text.h"

namespace ddpscope::commands {
namespace {

using model::Job;
using model::Process;

std::string name_of(const Job& job, const Process& process) {
  std::string name = reports::escape(model::process_name(job, process));
  return process.rank < 0 ? name : fmt::format("{} rank {}", name, process.rank);
}

void dump_record(const Job& job, std::uint32_t index, const reports::RecordPrinter& printer,
                 const std::string& name, const trace::Record& record) {
  std::string took = "(inside)";
  if (record.end) {
    std::int64_t ns = job.time_ns(index, record.end) - job.time_ns(index, record.begin);
    took = fmt::format("+{}ns", ns);
  }
  std::string stack = reports::stack_text(job.processes[index].file, record.stack, " < ");
  fmt::print("{:.9f} {} {} thread {} {} {}{}{}\n",
             static_cast<double>(job.time_ns(index, record.begin)) * 1e-9, took, name, record.thread,
             printer.call(record), reports::to_text(printer.fields(record)), stack.empty() ? "" : " @ ",
             stack);
}

void dump_items(const Process& process, const std::string& name) {
  for (const trace::ItemSpan& span : process.file.items())
    for (const trace::ItemRead& item : span.items)
      fmt::print("item {} thread {} file={} offset={} bytes={}\n", name, span.thread, item.file, item.offset,
                 item.bytes);
}

// In the order of begin; what enqueued it is told by the time of that call's line.
void dump_device_work(const Job& job, std::uint32_t index, const reports::RecordPrinter& printer,
                      const std::string& name) {
  const Process& process = job.processes[index];
  std::vector<model::DeviceInterval> intervals = model::device_intervals(job, index, model::is_any);
  std::vector<model::EventPlace> calls = model::calls_of(process, intervals);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const model::DeviceInterval& interval = intervals[i];
    std::string by;
    if (calls[i] != model::kNoCall) {
      trace::Record call = process.record(calls[i]);
      by = fmt::format(" call={} thread={} at={:.9f}", printer.call(call), call.thread,
                       static_cast<double>(job.time_ns(index, call.begin)) * 1e-9);
    }
    fmt::print("{:.9f} +{}ns {} gpu {} {}{}\n", static_cast<double>(interval.begin_ns) * 1e-9,
               interval.end_ns - interval.begin_ns, name, printer.device_call(interval.work),
               reports::to_text(printer.device_fields(interval.work)), by);
  }
}

Outcome dump(const TraceOptions& options) {
  if (merged::is_merged_file(options.trace)) {
    if (auto problem = check_merged(options)) return failed(*problem);
    auto file = merged::Reader::open(options.trace);
    return file ? dump_merged(*file) : failed(file.error());
  }
  auto reading = read_with_progress(options);
  if (!reading) return failed(reading.error());
  Job& job = reading->job;
  alignment::align(job);
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const reports::FileTexts texts(job.processes[i].file);
    reports::RecordPrinter printer(texts, [&job, i](std::uint64_t ticks) { return job.time_ns(i, ticks); });
    std::string name = name_of(job, job.processes[i]);
    model::for_each_in_time(job.processes[i].file, [&](model::EventPlace, const trace::Record& record) {
      dump_record(job, i, printer, name, record);
    });
    dump_items(job.processes[i], name);
    dump_device_work(job, i, printer, name);
  }
  return {reading->errors.empty() ? kNothingFound : kCannotRun, std::move(reading->errors),
          std::move(reading->warnings)};
}

}  // namespace

Action declare_dump(CLI::App& app) {
  auto options = std::make_shared<TraceOptions>();
  declare_trace(app, *options);
  return [options] { return dump(*options); };
}

}  // namespace ddpscope::commands
