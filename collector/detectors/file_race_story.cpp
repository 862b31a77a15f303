// Which races are one bug, and how it is told.
#include "collector/detectors/file_race_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collector/detectors/story.h"
#include "collector/ordering/file_edges.h"

namespace ddpscope::detectors {
namespace {

using files::Access;
using files::AccessKind;
using files::FileEvent;
using matching::Member;
using patterns::FileRace;

// A barrier that both ranks run in between, and whose end the host of the second one does not wait for.
struct UnheededBarrier {
  std::uint32_t first_call, second_call;  // in Collectives::calls: of the first rank, of the second
};

// Races that one barrier would mend.
struct RaceBug {
  std::string change_place, use_place;
  std::vector<const FileRace*> races;
  std::vector<UnheededBarrier> barriers;  // of each race, or none at all

  std::set<std::int32_t> users, changers;
  std::set<files::Name> names;
};

constexpr std::size_t kMaxEvidence = 32;
constexpr std::size_t kLookBack = 4096;  // collectives before the second access

const FileEvent& event_of(const Facts& facts, const Access& access) {
  return facts.names.events[access.event];
}
const FileEvent& opening_of(const Facts& facts, const Access& access) {
  return facts.names.events[access.opening];
}

const Member* member_in(const matching::Communicator& communicator, std::uint32_t process) {
  for (const Member& member : communicator.members)
    if (member.process == process) return &member;
  return nullptr;
}

bool looks_like_a_barrier(const matching::Signature& signature) {
  return signature.operation == trace::Operation::kAllReduce && signature.count == 1;
}

// Issued by the first rank after its access and by the second one before its own.
std::optional<UnheededBarrier> barrier_between(const Facts& facts, const FileEvent& first,
                                               const FileEvent& second) {
  const auto& collectives = facts.collectives;
  for (const matching::Communicator& communicator : collectives.communicators) {
    const Member* a = member_in(communicator, first.event.process);
    const Member* b = member_in(communicator, second.event.process);
    if (!a || !b) continue;
    auto begins_later = [&](std::int64_t ns, std::uint32_t call) {
      return ns < collectives.calls[call].begin_ns;
    };
    auto end = std::upper_bound(b->calls.begin(), b->calls.end(), second.begin_ns, begins_later);
    std::size_t before = std::min(a->calls.size(), static_cast<std::size_t>(end - b->calls.begin()));
    for (std::size_t k = before; k-- > 0 && before - k <= kLookBack;) {
      const auto& own = collectives.call_at(*a, k);
      if (own.begin_ns < first.end_ns) break;
      if (looks_like_a_barrier(own.signature) && looks_like_a_barrier(collectives.call_at(*b, k).signature))
        return UnheededBarrier{a->calls[k], b->calls[k]};
    }
  }
  return std::nullopt;
}

std::optional<UnheededBarrier> barrier_of(const Facts& facts, const FileRace& race) {
  const FileEvent& change = event_of(facts, race.change);
  const FileEvent& use = event_of(facts, race.use);
  if (auto barrier = barrier_between(facts, change, use)) return barrier;
  return barrier_between(facts, use, change);
}

// The more a use suffers, the better it tells the bug.
int weight(const FileRace& race) {
  switch (race.use.kind) {
    case AccessKind::kMiss:
      return 3;
    case AccessKind::kRead:
    case AccessKind::kMap:
      return 2;
    default:
      return 1;
  }
}

// A certain race first, then the one that tells most, then the earliest.
bool is_worse(const Facts& facts, const FileRace& a, const FileRace& b) {
  auto key = [&](const FileRace& race) {
    return std::tuple(race.verdict != ordering::Verdict::kUnordered, -weight(race),
                      event_of(facts, race.use).begin_ns, event_of(facts, race.use).rank);
  };
  return key(a) < key(b);
}

const FileRace& worst_of(const Facts& facts, const RaceBug& bug) {
  return **std::min_element(bug.races.begin(), bug.races.end(),
                            [&](const FileRace* a, const FileRace* b) { return is_worse(facts, *a, *b); });
}

const char* verb_of(AccessKind kind, bool one) {
  switch (kind) {
    case AccessKind::kMiss:
      return one ? "looks in vain for" : "look in vain for";
    case AccessKind::kOpen:
      return one ? "opens" : "open";
    case AccessKind::kMap:
      return one ? "maps" : "map";
    default:
      return one ? "reads" : "read";
  }
}

std::vector<std::int32_t> list(const std::set<std::int32_t>& ranks) { return {ranks.begin(), ranks.end()}; }

findings::Evidence tell_access(const Facts& facts, const Access& access) {
  const FileEvent& event = event_of(facts, access);
  const FileEvent& opening = opening_of(facts, access);
  std::string detail;
  switch (access.kind) {
    case AccessKind::kMake:
      detail = "makes the name";
      break;
    case AccessKind::kWrite:
      detail = fmt::format("changes the file until {}", seconds(event.end_ns));
      break;
    case AccessKind::kMiss:
      detail = "there is no such file yet";
      break;
    case AccessKind::kOpen:
      detail = "relies on the name";
      break;
    default:
      detail = fmt::format("{} the file at {}", verb_of(access.kind, true), seconds(event.begin_ns));
  }
  findings::Evidence evidence = evidence_of(facts.job, opening.event, std::move(detail));
  evidence.file = facts.names.paths[opening.name];
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

// Stacks are few, races can be many.
class KnownPlaces {
 public:
  explicit KnownPlaces(const Facts& facts) : facts_(facts) {}
  const std::string& of(const FileEvent& event) {
    auto [known, fresh] = places_.try_emplace({event.event.process, facts_.job.record(event.event).stack});
    if (fresh) known->second = facts_.places.of(event.event);
    return known->second;
  }

 private:
  const Facts& facts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> places_;
};

void add(const Facts& facts, KnownPlaces& places, std::vector<RaceBug>& bugs, const FileRace& race,
         std::optional<UnheededBarrier> barrier) {
  const std::string& change = places.of(opening_of(facts, race.change));
  const std::string& use = places.of(opening_of(facts, race.use));
  files::Name name = opening_of(facts, race.use).name;
  auto bug = std::find_if(bugs.begin(), bugs.end(), [&](const RaceBug& known) {
    bool same_lines = known.change_place == change && known.use_place == use;
    return same_lines && (!(change.empty() && use.empty()) || known.names.count(name));
  });
  if (bug == bugs.end()) {
    bugs.push_back({});
    bug = bugs.end() - 1;
    bug->change_place = change;
    bug->use_place = use;
  }
  bug->races.push_back(&race);
  if (barrier) bug->barriers.push_back(*barrier);
  bug->names.insert(name);
  bug->users.insert(event_of(facts, race.use).rank);
  bug->changers.insert(event_of(facts, race.change).rank);
}

std::vector<std::int32_t> ranks_of(const RaceBug& bug) {
  std::set<std::int32_t> ranks = bug.users;
  ranks.insert(bug.changers.begin(), bug.changers.end());
  return list(ranks);
}

struct Stretch {
  std::int64_t first_ns = ordering::kNever, last_ns = 0;
};

Stretch stretch_of(const Facts& facts, const RaceBug& bug) {
  Stretch stretch;
  for (const FileRace* race : bug.races)
    for (const FileEvent* event : {&event_of(facts, race->change), &event_of(facts, race->use)}) {
      stretch.first_ns = std::min(stretch.first_ns, event->begin_ns);
      stretch.last_ns = std::max(stretch.last_ns, event->end_ns);
    }
  return stretch;
}

// Between the meetings of its ranks in which it lies: one meeting more would mend it.
findings::Place place_of(const Facts& facts, const RaceBug& bug) {
  Stretch stretch = stretch_of(facts, bug);
  return facts.rounds.place(ranks_of(bug), stretch.first_ns, stretch.last_ns);
}

void take_over(const Facts& facts, RaceBug& bug, RaceBug&& other) {
  // Told by its worst race, at a line that is known.
  bool tells_better = bug.use_place.empty() || is_worse(facts, worst_of(facts, other), worst_of(facts, bug));
  if (!other.use_place.empty() && tells_better) std::swap(bug, other);
  bug.races.insert(bug.races.end(), other.races.begin(), other.races.end());
  bug.barriers.insert(bug.barriers.end(), other.barriers.begin(), other.barriers.end());
  bug.users.merge(other.users);
  bug.changers.merge(other.changers);
  bug.names.merge(other.names);
}

// Only the first calls of a kind have a stack.
bool may_be_same_lines(const RaceBug& a, const RaceBug& b) {
  auto alike = [](const std::string& one, const std::string& other) {
    return one == other || one.empty() || other.empty();
  };
  return alike(a.change_place, b.change_place) && alike(a.use_place, b.use_place);
}

// What the same ranks write and use in the same stretch, at whatever lines, lacks the same barrier; so does
// what they do at the same lines at other times.
std::vector<RaceBug> merge_by_stretch(const Facts& facts, std::vector<RaceBug> bugs) {
  std::vector<RaceBug> merged;
  for (RaceBug& bug : bugs) {
    findings::Place place = place_of(facts, bug);
    auto same = std::find_if(merged.begin(), merged.end(), [&](const RaceBug& known) {
      findings::Place other = place_of(facts, known);
      bool overlap = place.from_ns < other.to_ns && other.from_ns < place.to_ns;
      return known.changers == bug.changers && known.users == bug.users &&
             (overlap || may_be_same_lines(known, bug));
    });
    if (same == merged.end())
      merged.push_back(std::move(bug));
    else
      take_over(facts, *same, std::move(bug));
  }
  return merged;
}

// Those with a barrier in between, or those without.
std::vector<RaceBug> find_race_bugs(const Facts& facts, bool with_barrier) {
  std::vector<RaceBug> bugs;
  KnownPlaces places(facts);
  for (const FileRace& race : facts.file_races.races)
    if (auto barrier = barrier_of(facts, race); barrier.has_value() == with_barrier)
      add(facts, places, bugs, race, barrier);
  // What was merged may touch what stood apart.
  for (std::size_t before = bugs.size() + 1; bugs.size() < before;) {
    before = bugs.size();
    bugs = merge_by_stretch(facts, std::move(bugs));
  }
  return bugs;
}

// "rank 1 reads /data/a at PLACE, which rank 0 writes at PLACE"
std::string describe_race(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  std::string more = bug.names.size() > 1 ? fmt::format(" and {} more", bug.names.size() - 1) : "";
  const char* changing = worst.change.kind == AccessKind::kMake ? verb(list(bug.changers), "makes", "make")
                                                                : verb(list(bug.changers), "writes", "write");
  return fmt::format("{} {} {}{}{}, which {} {}{}", list_ranks(list(bug.users)),
                     verb_of(worst.use.kind, bug.users.size() == 1),
                     facts.names.paths[opening_of(facts, worst.use).name], more, at(bug.use_place),
                     list_ranks(list(bug.changers)), changing, at(bug.change_place));
}

// All of a finding but slug, title and advice.
findings::Finding tell_race(const Facts& facts, const RaceBug& bug) {
  const FileRace& worst = worst_of(facts, bug);
  bool certain = worst.verdict == ordering::Verdict::kUnordered;
  findings::Finding finding;
  finding.severity = certain ? findings::Severity::kError : findings::Severity::kWarning;
  finding.confidence = certain ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = ranks_of(bug);
  Stretch stretch = stretch_of(facts, bug);
  finding.first_ns = stretch.first_ns;
  finding.last_ns = stretch.last_ns;
  finding.place = place_of(facts, bug);
  for (files::Name name : bug.names) finding.files.insert(facts.names.paths[name]);
  std::set<std::pair<std::int32_t, files::Name>> times;
  for (const FileRace* race : bug.races)
    times.emplace(event_of(facts, race->use).rank, opening_of(facts, race->use).name);
  finding.count = times.size();
  finding.evidence.push_back(tell_access(facts, worst.change));
  tell_barriers(facts, bug, finding.evidence);
  std::set<std::int32_t> told;
  for (const FileRace* race : bug.races)
    if (told.insert(event_of(facts, race->use).rank).second && finding.evidence.size() < kMaxEvidence)
      finding.evidence.push_back(tell_access(facts, race->use));
  const FileEvent& change = event_of(facts, worst.change);
  const FileEvent& use = event_of(facts, worst.use);
  finding.order.push_back(
      {fmt::format("rank {} changes {} until {}", change.rank, facts.names.paths[change.name],
                   seconds(change.end_ns)),
       fmt::format("rank {} {} it at {}", use.rank, verb_of(worst.use.kind, true), seconds(use.begin_ns)),
       looked_for(facts.order, ordering::span_of(change), ordering::span_of(use))});
  finding.key = fmt::format("{} against {}", bug.use_place, bug.change_place);
  if (bug.use_place.empty() && bug.change_place.empty()) finding.key = facts.names.paths[*bug.names.begin()];
  return finding;
}

void add_race_coverage(const Facts& facts, const char* slug, findings::Outcome& outcome) {
  auto add = [&](std::string what, const char* why) {
    for (findings::Coverage& known : outcome.coverage)
      if (known.what == what && known.why == why) return known.unjudged.push_back(slug);
    outcome.coverage.push_back({std::move(what), why, {slug}});
  };
  if (facts.file_races.unjudged)
    add(fmt::format("{} pairs of accesses to files", facts.file_races.unjudged),
        "what could order the two was not recorded: hand-overs between threads, overwritten records, keys "
        "of a store");
  if (facts.file_races.mapped_files)
    add(fmt::format("{} files that ranks share as memory", facts.file_races.mapped_files),
        "what is written through a mapping shows in no call");
}

}  // namespace

void report_races(const Facts& facts, const RaceKind& kind, findings::Outcome& outcome) {
  for (const RaceBug& bug : find_race_bugs(facts, kind.with_barrier)) {
    findings::Finding finding = tell_race(facts, bug);
    finding.slug = kind.slug;
    finding.title = describe_race(facts, bug) + kind.why;
    finding.advice = kind.advice;
    outcome.findings.push_back(std::move(finding));
  }
  add_race_coverage(facts, kind.slug, outcome);
}

}  // namespace ddpscope::detectors
