// ddpscope info: what a trace holds.
#include <fmt/format.h>

#include "collector/alignment/align.h"
#include "collector/commands/command.h"
#include "collector/commands/merged_file.h"
#include "collector/commands/terminal_progress.h"
#include "collector/merged/job_info.h"

namespace ddpscope::commands {
namespace {

Outcome info(const TraceOptions& options) {
  if (merged::is_merged_file(options.trace)) {
    if (auto problem = check_merged(options)) return failed(*problem);
    auto file = merged::Reader::open(options.trace);
    return file ? print_merged_info(*file) : failed(file.error());
  }
  auto reading = read_with_progress(options);
  if (!reading) return failed(reading.error());
  const model::Job& job = reading->job;
  alignment::align(reading->job);
  matching::Collectives collectives = matching::find_collectives(job);
  fmt::print("{}", merged::info_of(job, collectives, patterns::CollectiveTimes(job, collectives)));
  return {reading->errors.empty() ? kNothingFound : kCannotRun, std::move(reading->errors),
          std::move(reading->warnings)};
}

}  // namespace

Action declare_info(CLI::App& app) {
  auto options = std::make_shared<TraceOptions>();
  declare_trace(app, *options);
  return [options] { return info(*options); };
}

}  // namespace ddpscope::commands
