// divergent-existence-check: ranks ask whether a file is there while one of them makes it, are told different
// things, and part ways in their collectives because of it (bug a2 of the catalogue, rule R3).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/detectors/divergence_story.h"
#include "collector/detectors/hangs.h"
#include "collector/detectors/story.h"
#include "collector/ordering/file_edges.h"
#include "collector/patterns/existence_checks.h"

namespace ddpscope::detectors {
namespace {

using files::FileEvent;
using matching::kNone;
using patterns::DivergentCheck;

constexpr std::size_t kMaxEvidence = 12;  // calls of a kind

// Where ranks stop making the same calls.
struct Parting {
  std::map<std::int32_t, std::uint32_t> calls;  // by rank: its call there, kNone if it makes no more
  std::set<std::int32_t> odd;
  findings::Place place;
};

// The function that looks, itself or by one of its own that does only that, also makes the file and the call:
// its frames in the two stacks.
struct Guard {
  std::uint32_t call = kNone;
  std::string look_place, call_place;
};

// The check by which they part, and the call that one side makes because of its answer.
struct Story {
  const Parting* parting;
  DivergentCheck check;
  Guard guard;
};

// What nobody waits for, and what NCCL pairs with its like, does no harm.
bool does_harm(const Facts& facts, const matching::Divergence& divergence) {
  auto barrier = [&](std::uint32_t call) { return call != kNone && facts.barriers[call]; };
  std::uint32_t expected = divergence.expected, actual = divergence.actual;
  if (divergence.kind == matching::DivergenceKind::kMissing && barrier(expected)) return true;
  if (divergence.kind == matching::DivergenceKind::kSurplus && barrier(actual)) return true;
  const auto& calls = facts.collectives.calls;
  return expected != kNone && actual != kNone && !(calls[expected].signature == calls[actual].signature);
}

Parting parting_of(const Facts& facts, const matching::Divergence& divergence) {
  Parting parting{{}, {}, place_of(facts, divergence)};
  const auto& members = facts.collectives.communicators[divergence.communicator].members;
  for (std::uint32_t m : divergence.odd) parting.odd.insert(members[m].rank);
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (divergence.calls[m] != kNone || parting.odd.contains(members[m].rank))
      parting.calls[members[m].rank] = divergence.calls[m];
  return parting;
}

// Members' calls from one place in the code. 0: they make it from several, or nobody knows.
std::uint32_t site_of(const Facts& facts, const matching::Communicator& communicator,
                      const std::vector<std::uint32_t>& members, std::size_t ordinal) {
  std::set<std::uint32_t> sites;
  for (std::uint32_t m : members)
    sites.insert(facts.collectives.call_at(communicator.members[m], ordinal).site);
  return sites.size() == 1 ? *sites.begin() : 0;
}

// Those that came no more may have taken their peers' calls for their own before: NCCL pairs any two
// barriers. The ranks part where they run equal calls from different places in the code.
std::size_t parting_ordinal(const Facts& facts, const Hang& hang) {
  const auto& communicator = facts.collectives.communicators[hang.communicator];
  std::size_t ordinal = hang.ordinal;
  for (std::size_t k = hang.ordinal; k-- > 0; ordinal = k) {
    std::uint32_t here = site_of(facts, communicator, hang.waiting, k);
    std::uint32_t there = site_of(facts, communicator, hang.absent, k);
    if (!here || !there || here == there) break;
  }
  return ordinal;
}

// Ranks that make no more calls while others wait for them.
Parting parting_of(const Facts& facts, const Hang& hang) {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  std::size_t ordinal = parting_ordinal(facts, hang);
  Parting parting;
  std::int64_t begin_ns = ordering::kNever;
  auto add = [&](std::uint32_t m) {
    const auto& calls = members[m].calls;
    std::uint32_t call = ordinal < calls.size() ? calls[ordinal] : kNone;
    parting.calls[members[m].rank] = call;
    if (call != kNone) begin_ns = std::min(begin_ns, facts.collectives.calls[call].begin_ns);
  };
  for (std::uint32_t m : hang.waiting) add(m);
  for (std::uint32_t m : hang.absent) {
    add(m);
    parting.odd.insert(members[m].rank);
  }
  std::vector<std::int32_t> ranks;
  for (const matching::Member& member : members) ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  parting.place = facts.rounds.place(ranks, begin_ns, ordering::kNever);
  return parting;
}

// In the order of time: what comes later in the same stretch follows from the first.
std::vector<Parting> find_partings(const Facts& facts) {
  std::vector<Parting> partings;
  for (const auto& divergence : facts.divergences.divergences)
    if (does_harm(facts, divergence)) partings.push_back(parting_of(facts, divergence));
  for (const Hang& hang : find_hangs(facts))
    if (hang.counts && !hang.absent.empty()) partings.push_back(parting_of(facts, hang));
  auto begin = [&](const Parting& parting) {
    std::int64_t ns = ordering::kNever;
    for (auto [rank, call] : parting.calls)
      if (call != kNone) ns = std::min(ns, facts.collectives.calls[call].begin_ns);
    return ns;
  };
  std::stable_sort(partings.begin(), partings.end(),
                   [&](const Parting& a, const Parting& b) { return begin(a) < begin(b); });
  return partings;
}

patterns::Stretches stretches_of(const Facts& facts, const Parting& parting) {
  patterns::Stretches stretches{parting.place.from_ns, {}};
  for (auto [rank, call] : parting.calls)
    stretches.to_ns[rank] = call == kNone ? ordering::kNever : facts.collectives.calls[call].begin_ns;
  return stretches;
}

std::vector<std::string> program_frames(const model::Job& job, model::EventRef event) {
  std::vector<std::string> frames = stack_of(job, event);
  std::erase_if(frames, findings::is_library_frame);
  return frames;
}

// "FILE FUNCTION" of "FILE:LINE FUNCTION".
std::string function_of(const std::string& frame) {
  std::size_t blank = frame.find(' '), colon = frame.rfind(':', blank);
  if (blank == std::string::npos || colon == std::string::npos) return frame;
  return frame.substr(0, colon) + frame.substr(blank);
}

// The innermost function that two calls have in common: its place in either stack, the end of both without
// one.
std::pair<std::size_t, std::size_t> meet(const std::vector<std::string>& a,
                                         const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      if (function_of(a[i]) == function_of(b[j])) return {i, j};
  return {a.size(), b.size()};
}

// The call on either side that stands behind the look, if any does. A function that looks and makes the file
// where it is missing guards nothing but that: what its caller does besides is another matter.
Guard guard_of(const Facts& facts, const Parting& parting, const DivergentCheck& check) {
  constexpr std::size_t kNear = 2;  // frames
  auto frames_of_look = [&](patterns::Look look) {
    return program_frames(facts.job, facts.names.events[look].event);
  };
  const FileEvent& made = facts.names.events[check.made];
  std::size_t making =
      meet(frames_of_look(check.missed.at(made.rank)), program_frames(facts.job, made.event)).first;
  for (const auto* side : {&check.missed, &check.found})
    for (auto [rank, look] : *side) {
      std::uint32_t call = parting.calls.at(rank);
      if (call == kNone) continue;
      auto looking = frames_of_look(look);
      auto calling = program_frames(facts.job, facts.collectives.calls[call].event);
      auto [here, there] = meet(looking, calling);
      if (here < std::min(kNear, looking.size()) && here <= making)
        return {call, looking[here], calling[there]};
    }
  return {};
}

// Of several the last that is made: nearest to where the ranks part.
std::optional<Story> explain(const Facts& facts, const patterns::ExistenceChecks& checks,
                             const Parting& parting) {
  std::optional<Story> story;
  for (DivergentCheck& check : checks.find(stretches_of(facts, parting), parting.odd)) {
    Guard guard = guard_of(facts, parting, check);
    if (guard.call == kNone || (story && check.made < story->check.made)) continue;
    story = Story{&parting, std::move(check), std::move(guard)};
  }
  return story;
}

std::vector<std::int32_t> ranks_of(const std::map<std::int32_t, patterns::Look>& side) {
  std::vector<std::int32_t> ranks;
  for (auto [rank, look] : side) ranks.push_back(rank);
  return ranks;
}

const FileEvent& look_of(const Facts& facts, const std::map<std::int32_t, patterns::Look>& side) {
  return facts.names.events[side.begin()->second];
}

// What the side that does not make the call does in its place.
std::string describe_others(const Facts& facts, const Story& story, const std::vector<std::int32_t>& others) {
  const auto& calls = facts.collectives.calls;
  std::uint32_t other = story.parting->calls.at(others.front());
  if (other == kNone || !(calls[other].signature == calls[story.guard.call].signature))
    return fmt::format("{} {} not", list_ranks(others), verb(others, "does", "do"));
  return fmt::format("{} another one{}", list_ranks(others), at(facts.places.of(calls[other].event)));
}

std::string describe(const Facts& facts, const Story& story) {
  const FileEvent& missed = look_of(facts, story.check.missed);
  auto without = ranks_of(story.check.missed), with = ranks_of(story.check.found);
  const auto& call = facts.collectives.calls[story.guard.call];
  bool by_missing = story.check.missed.contains(facts.collectives.member_of(call).rank);
  const auto& here = by_missing ? without : with;
  return fmt::format("{} {} no {}{} and {} {} it; then {} {} {}{}, {}", list_ranks(without),
                     verb(without, "finds", "find"), facts.names.paths[missed.name],
                     at(story.guard.look_place), list_ranks(with), verb(with, "finds", "find"),
                     list_ranks(here), verb(here, "runs", "run"),
                     facts.barriers[story.guard.call] ? "a barrier" : "a " + to_text(call.signature),
                     at(story.guard.call_place), describe_others(facts, story, by_missing ? with : without));
}

std::vector<findings::Evidence> tell(const Facts& facts, const Story& story) {
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
  for (auto [rank, number] : story.parting->calls) {
    if (number == kNone || told++ >= kMaxEvidence) continue;
    const auto& call = facts.collectives.calls[number];
    std::string detail = (facts.barriers[number] ? "barrier: " : "") + to_text(call.signature);
    evidence.push_back(evidence_of(facts.job, facts.collectives, call, detail));
  }
  return evidence;
}

findings::Order tell_order(const Facts& facts, const Story& story) {
  const FileEvent& made = facts.names.events[story.check.made];
  const FileEvent& found = facts.names.events[story.check.unordered];
  return {
      fmt::format("rank {} makes {} at {}", made.rank, facts.names.paths[found.name], seconds(made.end_ns)),
      fmt::format("rank {} looks for it at {}", found.rank, seconds(found.begin_ns)),
      looked_for(facts.order, ordering::span_of(made), ordering::span_of(found))};
}

findings::Finding finding_of(const Facts& facts, const Story& story) {
  findings::Finding finding;
  finding.slug = "divergent-existence-check";
  finding.severity = findings::Severity::kWarning;
  finding.confidence =
      story.check.maybe_ordered ? findings::Confidence::kLikely : findings::Confidence::kCertain;
  finding.title = describe(facts, story);
  for (auto [rank, call] : story.parting->calls) finding.ranks.push_back(rank);
  finding.first_ns = look_of(facts, story.check.missed).begin_ns;
  finding.last_ns = story.parting->place.to_ns;
  finding.advice =
      "Let one rank look, and broadcast what it saw; or let every rank run the barrier whatever it saw: look "
      "inside of what one rank does, not around it.";
  finding.evidence = tell(facts, story);
  finding.order.push_back(tell_order(facts, story));
  finding.place = story.parting->place;
  finding.key = fmt::format("{} then {}", facts.places.whole(look_of(facts, story.check.missed).event),
                            facts.places.whole(facts.collectives.calls[story.guard.call].event));
  return finding;
}

bool in_place_of(const findings::Place& place, const findings::Place& other) {
  bool overlap = place.from_ns < other.to_ns && other.from_ns < place.to_ns;
  return overlap && std::find_first_of(place.ranks.begin(), place.ranks.end(), other.ranks.begin(),
                                       other.ranks.end()) != place.ranks.end();
}

}  // namespace

void detect_divergent_existence_check(const Facts& facts, findings::Outcome& outcome) {
  std::vector<Parting> partings = find_partings(facts);
  if (partings.empty()) return;
  patterns::ExistenceChecks checks(facts.job, facts.names, facts.order);
  std::vector<findings::Place> told;
  for (const Parting& parting : partings) {
    bool follows = std::any_of(told.begin(), told.end(), [&](const findings::Place& place) {
      return in_place_of(parting.place, place);
    });
    if (follows) continue;
    if (auto story = explain(facts, checks, parting)) {
      outcome.findings.push_back(finding_of(facts, *story));
      told.push_back(parting.place);
    }
  }
}

}  // namespace ddpscope::detectors
