#include "collector/reports/code_location.h"

#include <algorithm>
#include <charconv>

#include "collector/reports/phrases.h"

namespace ddpscope::reports {
namespace {

bool is_python(const CodeLocation& location) { return location.file.ends_with(".py"); }

bool is_at_fault(const findings::Finding& finding, const findings::Evidence& evidence) {
  return std::binary_search(finding.ranks.begin(), finding.ranks.end(), evidence.rank);
}

}  // namespace

std::optional<CodeLocation> parse_frame(std::string_view frame) {
  // A file's name may hold blanks and colons: the line's number is what follows the last colon that has one.
  for (std::size_t colon = frame.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = frame.rfind(':', colon - 1)) {
    int line = 0;
    auto [rest, error] = std::from_chars(frame.data() + colon + 1, frame.data() + frame.size(), line);
    bool ends = rest == frame.data() + frame.size() || *rest == ' ';
    if (error != std::errc() || line < 1 || !ends) continue;
    std::string_view function(rest, static_cast<std::size_t>(frame.data() + frame.size() - rest));
    if (!function.empty()) function.remove_prefix(1);
    return CodeLocation{std::string(frame.substr(0, colon)), line, std::string(function)};
  }
  return std::nullopt;
}

std::optional<CodeLocation> location_of(const findings::Evidence& evidence) {
  std::optional<CodeLocation> native;
  for (const std::string& frame : program_frames(evidence.stack)) {
    auto location = parse_frame(frame);
    if (location && is_python(*location)) return location;
    if (location && !native) native = std::move(location);
  }
  return native;
}

std::optional<CodeLocation> location_of(const findings::Finding& finding) {
  if (auto told = parse_frame(findings::frame_in_title(finding))) return told;
  std::optional<CodeLocation> best;
  int best_rank = 0;
  for (const findings::Evidence& evidence : finding.evidence) {
    auto location = location_of(evidence);
    if (!location) continue;
    int rank = 1 + is_at_fault(finding, evidence) + 2 * is_python(*location);
    if (rank > best_rank) best = std::move(location), best_rank = rank;
  }
  return best;
}

}  // namespace ddpscope::reports
