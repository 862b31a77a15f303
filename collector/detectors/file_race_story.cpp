// How a race is told.
#include "collector/detectors/file_race_story.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/story.h"
#include "collector/ordering/doubts.h"
#include "collector/ordering/file_edges.h"

namespace ddpscope::detectors {
namespace {

using files::Access;
using files::AccessKind;
using files::FileEvent;
using patterns::FileRace;
using trace::Operation;
using Ranks = std::vector<std::int32_t>;

constexpr std::size_t kMaxEvidence = 32;

Ranks list(const std::set<std::int32_t>& ranks) { return {ranks.begin(), ranks.end()}; }

const char* changing(const Facts& facts, const Access& access, const Ranks& ranks) {
  if (access.kind == AccessKind::kMake) return verb(ranks, "makes", "make");
  if (access.kind != AccessKind::kRemove) return verb(ranks, "writes", "write");
  if (event_of(facts, access).operation == Operation::kRename)
    return verb(ranks, "renames away", "rename away");
  return verb(ranks, "deletes", "delete");
}

const char* failing(Operation operation, const Ranks& ranks) {
  switch (operation) {
    case Operation::kRename:
      return verb(ranks, "renames", "rename");
    case Operation::kUnlink:
    case Operation::kRemoveDirectory:
      return verb(ranks, "deletes", "delete");
    case Operation::kOpen:
      return verb(ranks, "makes", "make");
    default:
      return verb(ranks, "looks in vain for", "look in vain for");
  }
}

const char* using_it(const Facts& facts, const Access& access, const Ranks& ranks) {
  switch (access.kind) {
    case AccessKind::kMiss:
      return verb(ranks, "looks in vain for", "look in vain for");
    case AccessKind::kVain:
      return failing(event_of(facts, access).operation, ranks);
    case AccessKind::kOpen:
      return verb(ranks, "opens", "open");
    case AccessKind::kMap:
      return verb(ranks, "maps", "map");
    case AccessKind::kPut:
      return verb(ranks, "writes", "write");
    case AccessKind::kList:
      return verb(ranks, "lists", "list");
    default:
      return verb(ranks, "reads", "read");
  }
}

std::string tell_change(const Facts& facts, const Access& access) {
  const FileEvent& event = event_of(facts, access);
  if (access.kind == AccessKind::kMake && event.operation == Operation::kRename &&
      event.name != files::kNoName)
    return fmt::format("renames {} to it", facts.names.paths[event.name]);
  if (access.kind == AccessKind::kMake) return "makes the name";
  if (access.kind == AccessKind::kWrite)
    return fmt::format("changes the file until {}", seconds(event.end_ns));
  if (event.operation != Operation::kRename) return "deletes it";
  return fmt::format("renames it to {}",
                     event.target == files::kNoName ? "another name" : facts.names.paths[event.target]);
}

std::string tell_use(const Facts& facts, const Access& access, bool removed) {
  const FileEvent& event = event_of(facts, access);
  switch (access.kind) {
    case AccessKind::kMiss:
      if (event.flags & O_DIRECTORY) return removed ? "its folder is gone" : "its folder is not there yet";
      return removed ? "the file is gone" : "there is no such file yet";
    case AccessKind::kVain:
      if (!removed) return "fails: it is not there yet";
      return event.operation == Operation::kOpen ? "fails: its folder is gone" : "fails: it is gone";
    case AccessKind::kOpen:
      return "relies on the name";
    case AccessKind::kPut:
      return event.operation == Operation::kOpen ? "writes the file" : "gives a file this name";
    case AccessKind::kList:
      return "lists the folder";
    case AccessKind::kEnd:
      return fmt::format("finds its end at {}", seconds(event.begin_ns));
    default:
      return fmt::format("{} the file at {}", using_it(facts, access, {0}), seconds(event.begin_ns));
  }
}

// What is renamed or linked need not have a name that counts.
const std::string& path_of(const Facts& facts, const FileEvent& event) {
  return facts.names.paths[event.name != files::kNoName ? event.name : event.target];
}

// That of a name that is made is the name, whatever was renamed or linked to it.
const std::string& path_of(const Facts& facts, const Access& access) {
  const FileEvent& opening = opening_of(facts, access);
  if (access.kind == AccessKind::kMake && opening.target != files::kNoName)
    return facts.names.paths[opening.target];
  return path_of(facts, opening);
}

findings::Evidence tell(const Facts& facts, const Access& access, std::string detail) {
  const FileEvent& opening = opening_of(facts, access);
  findings::Evidence evidence = evidence_of(facts.job, opening.event, std::move(detail));
  evidence.file = path_of(facts, access);
  if (evidence.stack.empty()) {
    evidence.stack = stack_of(facts.job, stacked_opening(facts, access));
    if (!evidence.stack.empty()) evidence.detail += ", again from here";
  }
  return evidence;
}

void tell_barriers(const Facts& facts, const RaceBug& bug, std::vector<findings::Evidence>& evidence) {
  if (bug.barriers.empty()) return;
  for (std::uint32_t number : {bug.barriers.front().first_call, bug.barriers.front().second_call}) {
    const auto& call = facts.collectives.calls[number];
    std::uint32_t wait = facts.device_order.completions[number].own_wait;
    std::string detail = to_text(call.signature);
    if (wait == matching::kNone)
      detail += ": its thread never waits for it";
    else
      detail +=
          fmt::format(": its thread waits for it at {}", seconds(facts.device_order.waits[wait].begin_ns));
    evidence.push_back(evidence_of(facts.job, facts.collectives, call, std::move(detail)));
  }
}

std::string group_of(const Facts& facts, std::uint32_t call) {
  Ranks ranks;
  for (const auto& member :
       facts.collectives.communicators[facts.collectives.calls.form(call).communicator].members)
    ranks.push_back(member.rank);
  std::sort(ranks.begin(), ranks.end());
  return list_ranks(ranks);
}

// Who looks for the mistake finds a barrier there, and takes it for one of all.
void tell_barrier_of_others(const Facts& facts, const RaceBug& bug, findings::Finding& finding) {
  auto barrier = bug.barriers.empty() ? barrier_of_others(facts, worst_of(facts, bug)) : std::nullopt;
  if (!barrier) return;
  const auto& call = facts.collectives.calls[*barrier];
  std::string group = group_of(facts, *barrier);
  finding.advice += fmt::format(" The barrier between the two{} is one of {} only.",
                                at(facts.places.of(call.event)), group);
  findings::Evidence told =
      evidence_of(facts.job, facts.collectives, call,
                  fmt::format("{}: a barrier of {} only", to_text(call.signature), group));
  auto later = std::find_if(finding.evidence.begin(), finding.evidence.end(),
                            [&](const findings::Evidence& other) { return other.t_ns > told.t_ns; });
  finding.evidence.insert(later, std::move(told));
}

std::vector<findings::Evidence> tell_accesses(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  std::vector<findings::Evidence> evidence = {tell(facts, worst.change, tell_change(facts, worst.change))};
  tell_barriers(facts, bug, evidence);
  std::set<std::int32_t> told;
  for (const FileRace* race : bug.races)
    if (told.insert(event_of(facts, race->use).rank).second && evidence.size() < kMaxEvidence)
      evidence.push_back(tell(facts, race->use, tell_use(facts, race->use, patterns::removes(*race))));
  // A use before the removal, and one after it: as they came.
  if (patterns::removes(worst))
    std::stable_sort(evidence.begin(), evidence.end(),
                     [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
  return evidence;
}

// What of the race is about: the file, or of a folder's removal what was in it.
const std::string& path_of(const Facts& facts, const FileRace& race) {
  return path_of(facts, opening_of(facts, race.use));
}

findings::Order tell_order(const Facts& facts, const FileRace& race) {
  const FileEvent& change = event_of(facts, race.change);
  const FileEvent& use = event_of(facts, race.use);
  bool removed = patterns::removes(race);
  std::string changed = fmt::format(
      "rank {} {} {} {}", change.rank,
      removed || race.change.kind == AccessKind::kMake ? changing(facts, race.change, {0}) : "changes",
      path_of(facts, race.change),
      removed ? "at " + seconds(change.begin_ns) : "until " + seconds(change.end_ns));
  std::string used = fmt::format("rank {} {} {} at {}", use.rank, using_it(facts, race.use, {0}),
                                 removed ? path_of(facts, race) : "it", seconds(use.begin_ns));
  if (removed && use.begin_ns < change.begin_ns)
    return {used, changed, looked_for(facts.order, ordering::span_of(use), ordering::span_of(change))};
  return {changed, used, looked_for(facts.order, ordering::span_of(change), ordering::span_of(use))};
}

// One line of the program that several ranks run: the first one removes, the others try to.
bool all_remove(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  if (worst.use.kind != AccessKind::kVain || bug.use_place != bug.change_place) return false;
  Operation tried = event_of(facts, worst.use).operation;
  return tried == Operation::kRename || tried == Operation::kUnlink || tried == Operation::kRemoveDirectory;
}

// "rank 1 reads /data/a at PLACE, which rank 0 writes at PLACE"
std::string describe_race(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  Ranks users = list(bug.users), changers = list(bug.changers);
  std::string what = path_of(facts, worst);
  if (bug.names.size() > 1) what += fmt::format(" and {} more", bug.names.size() - 1);
  if (all_remove(facts, bug))
    return fmt::format("{} all {} {}{}, and only the first finds it", list_ranks(ranks_of(bug)),
                       failing(event_of(facts, worst.use).operation, {0, 1}), what, at(bug.use_place));
  return fmt::format("{} {} {}{}, which {} {}{}", list_ranks(users), using_it(facts, worst.use, users), what,
                     at(bug.use_place), list_ranks(changers), changing(facts, worst.change, changers),
                     at(bug.change_place));
}

// All of a finding but slug, title and advice.
findings::Finding tell_race(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  bool certain = worst.verdict == ordering::Verdict::kUnordered;
  findings::Finding finding;
  finding.severity = certain ? findings::Severity::kError : findings::Severity::kWarning;
  finding.confidence = certain ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = ranks_of(bug);
  RaceSpan span = span_of(facts, bug);
  finding.first_ns = span.first_ns;
  finding.last_ns = span.last_ns;
  finding.place = place_of(facts, bug);
  for (files::Name name : bug.names) finding.files.insert(facts.names.paths[name]);
  std::set<std::pair<std::int32_t, files::Name>> times;
  for (const FileRace* race : bug.races)
    times.emplace(event_of(facts, race->use).rank, opening_of(facts, race->use).name);
  for (const FileRace* race : bug.races)
    if (race->fatal) finding.ended.insert(event_of(facts, race->use).rank);
  finding.count = times.size();
  finding.evidence = tell_accesses(facts, bug);
  finding.shown = finding.evidence.size() - (bug.barriers.empty() ? 1 : 3);  // the change and the barriers
  finding.order.push_back(tell_order(facts, worst));
  finding.key = fmt::format("{} against {}", findings::key_of_frame(bug.use_place),
                            findings::key_of_frame(bug.change_place));
  if (bug.use_place.empty() && bug.change_place.empty()) finding.key = facts.names.paths[*bug.names.begin()];
  return finding;
}

// With the first pair, which is where to look.
std::string count_unjudged(const Facts& facts, const patterns::Unjudged& unjudged, const char* of_what) {
  const FileRace& first = *unjudged.example;
  auto side = [&](const Access& access) {
    const FileEvent& event = event_of(facts, access);
    std::string place = program_place(facts.job, event.event);
    if (place.empty()) place = program_place(facts.job, opening_of(facts, access).event);
    return fmt::format("rank {}{}", event.rank, at(place));
  };
  return fmt::format("{} pair{} of {}, first {}: {}, {}", unjudged.pairs, unjudged.pairs == 1 ? "" : "s",
                     of_what, path_of(facts, first), side(first.change), side(first.use));
}

// `why()` is asked once: what several detectors leave unjudged, they do for one reason.
template <class Why>
void add_row(findings::Outcome& outcome, std::string what, Why why, const char* slug) {
  for (findings::Coverage& known : outcome.coverage)
    if (known.what == what) return known.unjudged.push_back(slug);
  outcome.coverage.push_back({std::move(what), why(), {slug}});
}

// Of the first pair.
std::string why_unjudged(const Facts& facts, const patterns::Unjudged& unjudged) {
  auto span = [&](const Access& access) { return ordering::span_of(event_of(facts, access)); };
  ordering::Span change = span(unjudged.example->change), use = span(unjudged.example->use);
  if (facts.order.between(change, use) != ordering::Verdict::kUnjudged)
    return "both lock the file, and may know what they do outside of the lock";
  return "what could order the two was not recorded: " +
         ordering::doubt_between(facts.job, facts.order, change, use);
}

// Found of the same two lines: the pairs are more of that bug.
bool is_of_found(const Facts& facts, const patterns::Unjudged& unjudged, const std::vector<RaceBug>& found) {
  auto place = [&](const Access& access) { return facts.places.of(stacked_opening(facts, access)); };
  const std::string change = place(unjudged.example->change), use = place(unjudged.example->use);
  return std::any_of(found.begin(), found.end(), [&](const RaceBug& bug) {
    return !change.empty() && bug.change_place == change && bug.use_place == use;
  });
}

void add_race_coverage(const Facts& facts, const RaceKind& kind, const std::vector<RaceBug>& found,
                       findings::Outcome& outcome) {
  auto add_pairs = [&](const patterns::Unjudged& unjudged, const char* of_what) {
    if (is_of_found(facts, unjudged, found))
      return add_row(
          outcome,
          fmt::format("{} more pair{} of {} at the two lines of {}", unjudged.pairs,
                      unjudged.pairs == 1 ? "" : "s", of_what, kind.slug),
          [] {
            return "the finding stands without them; whether something orders these, too, was not recorded";
          },
          kind.slug);
    add_row(
        outcome, count_unjudged(facts, unjudged, of_what), [&] { return why_unjudged(facts, unjudged); },
        kind.slug);
  };
  auto add = [&](std::string what, const char* why) {
    add_row(
        outcome, std::move(what), [&] { return why; }, kind.slug);
  };
  const patterns::FileRaces& races = facts.file_races;
  if (races.unjudged.pairs && kind.cause != RaceCause::kRemoved)
    add_pairs(races.unjudged, "accesses to a file");
  if (races.unjudged_removals.pairs && kind.cause != RaceCause::kForgotten)
    add_pairs(races.unjudged_removals, "a file's removal and a use of it");
  if (races.unjudged_parts && kind.cause != RaceCause::kRemoved)
    add(fmt::format("{} pairs of accesses to files that several ranks write", races.unjudged_parts),
        "which bytes were read or written was not recorded");
  if (races.unjudged_additions && kind.cause != RaceCause::kRemoved)
    add(fmt::format("{} pairs of accesses to files to which several ranks add", races.unjudged_additions),
        "whether a rank that reads what it has added to itself means what others add later shows in no call");
  if (races.unjudged_tries && kind.cause != RaceCause::kRemoved)
    add(fmt::format(
            "{} pairs of the writing of a file and its reading by who opened it in vain until it was there",
            races.unjudged_tries),
        "whether the reader would have tried again, had the file not been whole, shows in no call");
  if (kind.cause == RaceCause::kForgotten) add_asked_coverage(facts, kind.slug, outcome);
  if (races.mapped_files && kind.cause != RaceCause::kRemoved)
    add(fmt::format("{} files that ranks share as memory", races.mapped_files),
        "what is written through a mapping shows in no call");
}

}  // namespace

std::vector<findings::Evidence> evidence_of(const Facts& facts, const FileRace& race) {
  return {tell(facts, race.change, tell_change(facts, race.change)),
          tell(facts, race.use, tell_use(facts, race.use, patterns::removes(race)))};
}

void add_asked_coverage(const Facts& facts, const char* slug, findings::Outcome& outcome) {
  const patterns::Unjudged& asked = facts.file_races.unjudged_asked;
  if (asked.pairs)
    add_row(
        outcome, count_unjudged(facts, asked, "the writing of a file and its use by who asked for it"),
        [] {
          return "it was there, and no order was seen: what the rank would have done without it shows in no "
                 "call";
        },
        slug);
}

void report_races(const Facts& facts, const RaceKind& kind, findings::Outcome& outcome) {
  const std::vector<RaceBug> found = find_race_bugs(facts, kind.cause);
  for (const RaceBug& bug : found) {
    findings::Finding finding = tell_race(facts, bug);
    finding.slug = kind.slug;
    finding.title = describe_race(facts, bug) + kind.why;
    finding.advice = kind.advice;
    tell_barrier_of_others(facts, bug, finding);
    outcome.findings.push_back(std::move(finding));
  }
  add_race_coverage(facts, kind, found, outcome);
}

}  // namespace ddpscope::detectors
