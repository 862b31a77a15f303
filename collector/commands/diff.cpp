// ddpscope diff: what differs between two versions of a job, of which there may be several runs each.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "collector/commands/command.h"
#include "collector/commands/input_file.h"
#include "collector/commands/summaries.h"
#include "collector/merged/reader.h"
#include "collector/summary/difference.h"
#include "trace/format.h"

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

struct DiffOptions {
  std::string base, now, format = "text";
  bool fail_on_unjudged = false;
};

bool is_trace_file(const fs::path& path) { return path.extension() == trace::kFileSuffix; }

// The entries of a folder, by name.
Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    entries.push_back(at->path());
  if (failed) return Error{"cannot list it: " + failed.message(), folder.string(), ""};
  std::sort(entries.begin(), entries.end());
  return entries;
}

Result<summary::Summary> summary_of(const fs::path& path) {
  if (fs::is_directory(path) || is_trace_file(path) || merged::is_merged_file(path))
    return summarise_trace({path.string(), -1});
  return read_and_parse(path.string(), summary::parse);
}

// One run, or a folder of several.
Result<summary::Runs> runs_of(const std::string& given) {
  std::error_code none;
  if (!fs::exists(given, none)) return Error{"there is no such file or folder", given, ""};
  std::vector<fs::path> paths = {given};
  if (fs::is_directory(given, none)) {
    auto entries = entries_of(given);
    if (!entries) return entries.error();
    bool one_trace = std::any_of(entries->begin(), entries->end(), is_trace_file);
    if (!one_trace && !entries->empty()) paths = std::move(*entries);
  }
  summary::Runs runs;
  for (const fs::path& path : paths) {
    auto run = summary_of(path);
    if (!run) return run.error();
    runs.push_back(std::move(*run));
  }
  return runs;
}

Outcome diff(const DiffOptions& options) {
  auto base = runs_of(options.base);
  if (!base) return failed(base.error());
  auto now = runs_of(options.now);
  if (!now) return failed(now.error());
  summary::Difference difference = summary::compare(*base, *now, options.fail_on_unjudged);
  std::string text = options.format == "json" ? summary::to_json(difference) : summary::to_text(difference);
  fmt::print("{}", text);
  return {difference.regression() ? kFindings : kNothingFound, {}};
}

}  // namespace

Action declare_diff(CLI::App& app) {
  auto options = std::make_shared<DiffOptions>();
  const char* what =
      "a trace's folder, a merged file, a summary or a report in JSON, or a folder of several of these: "
      "repeated runs";
  app.add_option("BASE", options->base, what)->type_name("")->required();
  app.add_option("NEW", options->now, what)->type_name("")->required();
  app.add_option("--format", options->format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--fail-on-unjudged", options->fail_on_unjudged,
               "a regression, too: something that was judged in BASE cannot be judged in NEW");
  return [options] { return diff(*options); };
}

}  // namespace ddpscope::commands
