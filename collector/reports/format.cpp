#include "collector/reports/format.h"

#include <algorithm>

namespace ddpscope::reports {
namespace {

constexpr Format kFormats[] = {
    {"text", [](const Report& report) { return text_report(report.job, report.outcome); }},
    {"json", [](const Report& report) { return json_report(report.job, report.outcome, report.version); }},
    {"markdown", markdown_report},
    {"html", html_report, true},
    {"sarif", sarif_report},
    {"junit", junit_report}};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                            [&](const Format& format) { return format.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace ddpscope::reports
