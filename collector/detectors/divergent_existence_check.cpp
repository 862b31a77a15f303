// divergent-existence-check: ranks ask whether a file is there while one of them makes it, are told different
// things, and part ways in their collectives because of it (bug a2 of the catalogue, rule R3).
#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/divergent_checks.h"
#include "collector/detectors/file_race_story.h"
#include "collector/detectors/story.h"
#include "collector/ordering/file_edges.h"

namespace ddpscope::detectors {
namespace {

using files::FileEvent;

constexpr std::size_t kMaxEvidence = 12;  // calls of a kind

std::vector<std::int32_t> ranks_of(const std::map<std::int32_t, patterns::Look>& side) {
  std::vector<std::int32_t> ranks;
  for (auto [rank, look] : side) ranks.push_back(rank);
  return ranks;
}

const FileEvent& look_of(const Facts& facts, const std::map<std::int32_t, patterns::Look>& side) {
  return facts.names.events[side.begin()->second];
}

// What the side that does not make the call does in its place.
std::string describe_others(const Facts& facts, const DivergentStory& story,
                            const std::vector<std::int32_t>& others) {
  const auto& other = story.parting.calls.at(others.front());
  if (!other || other->kind != story.parting.calls.at(story.guard.rank)->kind)
    return fmt::format("{} {} not", list_ranks(others), verb(others, "does", "do"));
  return fmt::format("{} another one{}", list_ranks(others),
                     at(place_of_other(facts, story.guard, other->event)));
}

std::string describe(const Facts& facts, const DivergentStory& story) {
  const FileEvent& missed = look_of(facts, story.check.missed);
  auto without = ranks_of(story.check.missed), with = ranks_of(story.check.found);
  bool by_missing = story.check.missed.contains(story.guard.rank);
  const auto& here = by_missing ? without : with;
  return fmt::format("{} {} no {}{} and {} {} it; then {} {} {}{}, {}", list_ranks(without),
                     verb(without, "finds", "find"), facts.names.paths[missed.name],
                     at(story.guard.look_place), list_ranks(with), verb(with, "finds", "find"),
                     list_ranks(here), verb(here, "runs", "run"),
                     story.parting.calls.at(story.guard.rank)->action, at(story.guard.call_place),
                     describe_others(facts, story, by_missing ? with : without));
}

std::vector<findings::Evidence> tell(const Facts& facts, const DivergentStory& story) {
  std::vector<findings::Evidence> evidence;
  auto add = [&](const FileEvent& event, const char* detail) {
    evidence.push_back(evidence_of(facts.job, event.event, detail));
    evidence.back().file = facts.names.paths[event.made != files::kNoName ? event.made : event.name];
  };
  std::size_t told = 0;
  for (auto [rank, look] : story.check.missed)
    if (told++ < kMaxEvidence) add(facts.names.events[look], "it is not there");
  add(facts.names.events[story.check.made], "makes it");
  told = 0;
  for (auto [rank, look] : story.check.found)
    if (told++ < kMaxEvidence) add(facts.names.events[look], "it is there");
  told = 0;
  for (const auto& [rank, call] : story.parting.calls) {
    if (!call || told++ >= kMaxEvidence) continue;
    evidence.push_back(evidence_of(facts.job, call->event, call->detail));
    evidence.back().rank = rank;
  }
  if (!story.races.empty())
    for (findings::Evidence& access : evidence_of(facts, *story.races.front()))
      evidence.push_back(std::move(access));
  return evidence;
}

findings::Order tell_order(const Facts& facts, const DivergentStory& story) {
  const FileEvent& made = facts.names.events[story.check.made];
  const FileEvent& found = facts.names.events[story.check.unordered];
  return {
      fmt::format("rank {} makes {} at {}", made.rank, facts.names.paths[found.name], seconds(made.end_ns)),
      fmt::format("rank {} looks for it at {}", found.rank, seconds(found.begin_ns)),
      looked_for(facts.order, ordering::span_of(made), ordering::span_of(found))};
}

findings::Finding finding_of(const Facts& facts, const DivergentStory& story) {
  findings::Finding finding;
  finding.slug = "divergent-existence-check";
  finding.severity = findings::Severity::kWarning;
  finding.confidence =
      story.check.maybe_ordered ? findings::Confidence::kLikely : findings::Confidence::kCertain;
  finding.title = describe(facts, story);
  for (const auto& [rank, call] : story.parting.calls) finding.ranks.push_back(rank);
  finding.first_ns = look_of(facts, story.check.missed).begin_ns;
  finding.last_ns = story.parting.place.to_ns;
  finding.advice =
      "Let one rank look, and broadcast what it saw; or let every rank run the barrier whatever it saw: look "
      "inside of what one rank does, not around it.";
  finding.evidence = tell(facts, story);
  finding.order.push_back(tell_order(facts, story));
  finding.place = story.parting.place;
  for (const patterns::FileRace* race : story.races)
    if (race->verdict != ordering::Verdict::kUnordered) finding.confidence = findings::Confidence::kLikely;
  for (files::Name name : story.names) finding.files.insert(facts.names.paths[name]);
  finding.key = fmt::format("{} then {}", facts.places.whole(look_of(facts, story.check.missed).event),
                            facts.places.whole(story.parting.calls.at(story.guard.rank)->event));
  return finding;
}

}  // namespace

void detect_divergent_group_checks(const Facts& groups, findings::Outcome& outcome) {
  for (const DivergentStory& story : find_parting_checks(groups)) {
    bool known = std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const auto& finding) {
      return finding.slug == "divergent-existence-check" && in_place_of(story.parting.place, finding.place);
    });
    if (!known) outcome.findings.push_back(finding_of(groups, story));
  }
}

void detect_divergent_existence_check(const Facts& facts, findings::Outcome& outcome) {
  for (const DivergentStory& story : find_divergent_checks(facts))
    outcome.findings.push_back(finding_of(facts, story));
  add_asked_coverage(facts, "divergent-existence-check", outcome);
}

}  // namespace ddpscope::detectors
