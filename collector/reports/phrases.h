// What reports of all formats for people say in the same words. What comes from a trace is escaped.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"

namespace ddpscope::reports {

inline double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// "1 error, 2 known", "nothing found", "nothing found, but the job failed"
std::string headline(const findings::Outcome& outcome);
std::string slug_list(const std::vector<std::string>& slugs);  // "a, b"
std::string times_text(const findings::Finding& finding);      // ", 3 times; one is shown", or nothing
// It never gets past the bug: what it lost has no step to be counted by.
bool stops_the_job(const findings::Finding& finding);
std::string cost_text(const findings::Finding& finding);     // "12.5 ms a step"; empty: not known
std::string known_text(const findings::Finding& finding);    // "in the baseline"; empty: it is not
std::string worse_text(const findings::Finding& finding);    // than in the baseline; empty: it is not
std::string coverage_text(const findings::Coverage& entry);  // "WHAT: WHY; unjudged: SLUG, ..."
// Of an advice words and, what stands between backticks, code; those themselves are in neither.
struct AdvicePart {
  std::string_view text;
  bool code = false;
};
std::vector<AdvicePart> advice_parts(std::string_view advice);
std::vector<std::string> program_frames(std::vector<std::string> stack);  // all, if none is the program's

}  // namespace ddpscope::reports
