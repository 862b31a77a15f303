// Findings about what is not there.
#include "viewer/story/absence.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/story/story.h"

namespace ddpscope::viewer {
namespace {

using findings::Evidence;
using findings::Finding;

// Of the title: "ranks 0-3 each train alone: nothing connects them, though ...; only rank 0 saves".
std::string before_colon(const Finding& finding) {
  return in_short(finding.title.substr(0, finding.title.find(": ")));
}
std::string after_colon(const Finding& finding) {
  std::size_t colon = finding.title.find(": ");
  if (colon == std::string::npos) return in_short(finding.title);
  std::size_t end = finding.title.find(';', colon);
  return in_short(
      std::string_view(finding.title).substr(colon + 2, end == std::string::npos ? end : end - colon - 2));
}

TimeSpan span_of(const Finding& finding, bool with_files) {
  TimeSpan span{INT64_MAX, INT64_MIN};
  for (const Evidence& evidence : finding.evidence) {
    if (!with_files && !evidence.file.empty()) continue;
    span.from_ns = std::min(span.from_ns, evidence.t_ns), span.to_ns = std::max(span.to_ns, evidence.t_ns);
  }
  return span.from_ns <= span.to_ns ? span : TimeSpan{finding.first_ns, finding.last_ns};
}

// Ranks that never meet: from the first one's beginning on. That they train is seen where several have begun.
StoryAbsence no_communicator(const Finding& finding) {
  StoryAbsence absence{
      "communicator", "of several ranks: none", after_colon(finding), {}, span_of(finding, false)};
  constexpr std::string_view kThem = "connects them";
  if (std::size_t at = absence.words.find(kThem); at != std::string::npos)
    absence.words.replace(at, kThem.size(), "connects " + ranks_text(finding.ranks));
  absence.span = {std::min(finding.first_ns, absence.focus.from_ns),
                  std::max(finding.last_ns, absence.focus.to_ns)};
  absence.focus.to_ns = std::min(absence.span.to_ns, absence.focus.to_ns + absence.focus.length() / 2);
  return absence;
}

// From where on nothing is reduced to the update that uses it; in the whole run, if nothing ever is.
StoryAbsence no_reductions(const Finding& finding) {
  auto further = std::find_if(finding.evidence.begin(), finding.evidence.end(), [](const Evidence& evidence) {
    return evidence.detail.find("nothing is reduced from here") != std::string::npos;
  });
  std::string updates =
      fmt::format("before {} optimizer {}", finding.count, finding.count == 1 ? "update" : "updates");
  TimeSpan focus = span_of(finding, true);
  if (further != finding.evidence.end())
    return {"gradient syncs",
            updates,
            "not reduced: " + after_colon(finding),
            {further->t_ns, focus.to_ns},
            focus};
  // Some steps, so that one sees that it is so in each.
  TimeSpan span{focus.from_ns, std::max(finding.last_ns, focus.to_ns)};
  focus.to_ns = std::min(span.to_ns, focus.to_ns + std::max(focus.length(), span.length() / 8));
  return {"gradient syncs", updates, before_colon(finding), span, focus};
}

// Ranks that wait for one that sends nothing: from their last message on. Its evidence is often what was seen
// only at the end.
StoryAbsence no_messages(const Finding& finding) {
  std::string_view title = finding.title;
  std::string words(title.substr(0, std::min({title.find(" at "), title.find(", for "), title.find(';')})));
  TimeSpan span{finding.first_ns, finding.last_ns}, evidence = span_of(finding, true);
  return {"messages over TCP",
          "among these ranks: none",
          fmt::format("{}, for {}", in_short(words), duration_text(span.length())),
          span,
          {std::min(span.from_ns, evidence.from_ns), std::max(span.to_ns, evidence.to_ns)}};
}

}  // namespace

std::optional<StoryAbsence> absence_of(const Finding& finding) {
  if (finding.evidence.empty()) return std::nullopt;
  if (finding.slug == "no-process-group") return no_communicator(finding);
  if (finding.slug == "missing-gradient-sync") return no_reductions(finding);
  if (finding.slug == "hung-collective" && finding.key.starts_with("over TCP")) return no_messages(finding);
  return std::nullopt;
}

}  // namespace ddpscope::viewer
