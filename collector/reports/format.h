// The formats of `report --format`.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collector/reports/report.h"

namespace ddpscope::reports {

// Of a finding's evidence, made by the viewer.
struct Picture {
  std::string png;  // empty: there is none
  std::string why_none;
};

// All that a format may tell.
struct Report {
  const JobFacts& job;
  const findings::Outcome& outcome;
  std::string version;                          // of ddpscope
  std::optional<findings::Severity> fail_from;  // what is less severe fails no gate; none: nothing does
  bool fail_on_failure = false;                 // a job that failed fails it, if no finding explains that
  std::map<std::string, Picture> pictures;      // by the finding's id, for formats that show them
  std::string source_root;  // absolute: files below it are named relative to it, as tools of CI want them
};

struct Format {
  std::string_view name;
  std::string (*write)(const Report& report);
  bool shows_pictures = false;
};
std::span<const Format> formats();
const Format* find_format(std::string_view name);

// GitHub's Markdown, for a comment or a job's summary. Nothing from a trace is markup, HTML or a mention.
std::string markdown_report(const Report& report);
// SARIF 2.1.0: a rule for each finding of the catalogue, results with the Python frame as location and the
// evidence as a code flow with a thread for each rank; what the trace cannot show as notifications.
std::string sarif_report(const Report& report);
// JUnit, as Jenkins' schema has it: a case for each finding of the catalogue that was looked for. It fails if
// one was found that is severe enough, and is skipped if nothing of it could be judged. With fail_on_failure
// one more, "job".
std::string junit_report(const Report& report);

// One file that needs no other: summary, a table to search in, findings with their pictures and whole stacks.
std::string html_report(const Report& report);

}  // namespace ddpscope::reports
