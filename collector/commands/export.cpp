// ddpscope export: a trace as a file of another kind.
#include <memory>
#include <string>

#include "collector/commands/command.h"
#include "collector/commands/output_file.h"
#include "collector/commands/summaries.h"
#include "collector/commands/terminal_progress.h"
#include "collector/merged/make.h"
#include "collector/merged/reader.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

struct ExportOptions {
  TraceOptions of;
  std::string format;
  std::string output;
};

Outcome export_summary(const ExportOptions& options) {
  constexpr const char* kWhat = "the summary";
  if (auto problem = check_output(options.output, kWhat)) return failed(*problem);
  auto summary = summarise_trace(options.of);
  if (!summary) return failed(summary.error());
  if (auto problem = write_output(options.output, summary::to_json(*summary), kWhat)) return failed(*problem);
  return {};
}

Outcome export_trace(const ExportOptions& options) {
  if (options.format == "summary") return export_summary(options);
  if (options.format != "merged") return not_in_this_version("--format " + options.format);
  if (merged::is_merged_file(options.of.trace))
    return failed(
        {"this is a merged file already", options.of.trace, "name the folder that `ddpscope run -o` filled"});
  TerminalProgress progress;
  trace::Identity here = trace::read_identity();
  auto made = merged::write_merged(options.of.trace, options.output, progress, &here, options.of.attempt);
  if (!made) return failed(made.error());
  return {made->errors.empty() ? kNothingFound : kCannotRun, std::move(made->errors),
          std::move(made->warnings)};
}

}  // namespace

Action declare_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  declare_trace(app, options->of);
  app.add_option(
         "--format", options->format,
         "merged: the whole job in one file, which `view`, `report` and `info` open at once; summary: what "
         "`diff` compares, small enough to be committed")
      ->required()
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"merged", "summary", "perfetto", "chrome", "parquet"})
                  .description("{merged,summary}"));
  app.add_option("-o", options->output, "file to write; it is there whole, or not at all")
      ->type_name("FILE")
      ->required();
  return [options] { return export_trace(*options); };
}

}  // namespace ddpscope::commands
