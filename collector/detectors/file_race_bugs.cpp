// Causes, and what has the same lines or the same stretch.
#include "collector/detectors/file_race_bugs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace ddpscope::detectors {
namespace {

using files::Access;
using files::AccessKind;
using files::FileEvent;
using matching::Member;
using patterns::FileRace;

constexpr std::size_t kLookBack = 4096;  // collectives before the second access

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
    auto begun = [&](std::uint32_t call) { return collectives.calls.begin_ns(call) <= second.begin_ns; };
    std::size_t before = std::min(a->calls.size(), b->calls.count_first(begun));
    for (std::size_t k = before; k-- > 0 && before - k <= kLookBack;) {
      if (collectives.begin_ns_at(*a, k) < first.end_ns) break;
      if (looks_like_a_barrier(collectives.signature_at(*a, k)) &&
          looks_like_a_barrier(collectives.signature_at(*b, k)))
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
    case AccessKind::kVain:
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

// Stacks are few, races can be many.
class KnownPlaces {
 public:
  explicit KnownPlaces(const Facts& facts) : facts_(facts) {}
  const std::string& of(const Access& access) {
    const FileEvent& opening = opening_of(facts_, access);
    std::uint32_t stack = facts_.job.record(opening.event).stack;
    auto [known, fresh] =
        places_.try_emplace({opening.event.process, stack, stack ? files::kNoName : opening.name});
    if (fresh) known->second = facts_.places.of(stacked_opening(facts_, access));
    return known->second;
  }

 private:
  const Facts& facts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, files::Name>, std::string>
      places_;  // by process and stack, or name
};

void add(const Facts& facts, KnownPlaces& places, std::vector<RaceBug>& bugs, const FileRace& race,
         std::optional<UnheededBarrier> barrier) {
  const std::string& change = places.of(race.change);
  const std::string& use = places.of(race.use);
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

RaceCause cause_of(const FileRace& race, bool with_barrier) {
  if (with_barrier) return RaceCause::kUnheeded;
  return patterns::removes(race) ? RaceCause::kRemoved : RaceCause::kForgotten;
}

// Issued by this member between the two times, the last.
std::optional<std::uint32_t> last_barrier(const Facts& facts, const Member& member, std::int64_t from_ns,
                                          std::int64_t to_ns) {
  const auto& calls = facts.collectives.calls;
  std::size_t before =
      member.calls.count_first([&](std::uint32_t call) { return calls.begin_ns(call) <= to_ns; });
  for (std::size_t k = before; k-- > 0 && before - k <= kLookBack;) {
    if (calls.begin_ns(member.calls[k]) < from_ns) break;
    if (facts.barriers[member.calls[k]]) return member.calls[k];
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> barrier_of_others(const Facts& facts, const FileRace& race) {
  const FileEvent* first = &event_of(facts, race.change);
  const FileEvent* second = &event_of(facts, race.use);
  if (patterns::removes(race) && second->begin_ns < first->begin_ns) std::swap(first, second);
  std::optional<std::uint32_t> last;
  for (const matching::Communicator& communicator : facts.collectives.communicators) {
    const Member* a = member_in(communicator, first->event.process);
    const Member* b = member_in(communicator, second->event.process);
    if (!a == !b) continue;
    auto barrier = last_barrier(facts, a ? *a : *b, first->end_ns, second->begin_ns);
    const auto& calls = facts.collectives.calls;
    if (barrier && (!last || calls.begin_ns(*last) < calls.begin_ns(*barrier))) last = barrier;
  }
  return last;
}

const FileRace& worst_of(const Facts& facts, const RaceBug& bug) {
  return **std::min_element(bug.races.begin(), bug.races.end(),
                            [&](const FileRace* a, const FileRace* b) { return is_worse(facts, *a, *b); });
}

std::vector<std::int32_t> ranks_of(const RaceBug& bug) {
  std::set<std::int32_t> ranks = bug.users;
  ranks.insert(bug.changers.begin(), bug.changers.end());
  return {ranks.begin(), ranks.end()};
}

RaceSpan span_of(const Facts& facts, const RaceBug& bug) {
  RaceSpan span;
  for (const FileRace* race : bug.races)
    for (const FileEvent* event : {&event_of(facts, race->change), &event_of(facts, race->use)}) {
      span.first_ns = std::min(span.first_ns, event->begin_ns);
      span.last_ns = std::max(span.last_ns, event->end_ns);
    }
  return span;
}

findings::Place place_of(const Facts& facts, const RaceBug& bug) {
  RaceSpan span = span_of(facts, bug);
  return facts.rounds.place(ranks_of(bug), span.first_ns, span.last_ns);
}

model::EventRef stacked_opening(const Facts& facts, const Access& access) {
  const FileEvent& opening = opening_of(facts, access);
  const std::uint16_t call = facts.job.record(opening.event).call;
  for (std::size_t i = access.opening + 1; i-- > 0;) {
    const FileEvent& earlier = facts.names.events[i];
    bool same = earlier.event.process == opening.event.process && earlier.name == opening.name;
    const trace::Record& record = facts.job.record(earlier.event);
    if (same && record.call == call && record.stack) return earlier.event;
  }
  return opening.event;
}

std::vector<RaceBug> find_race_bugs(const Facts& facts, RaceCause cause) {
  std::vector<RaceBug> bugs;
  KnownPlaces places(facts);
  for (const FileRace& race : facts.file_races.races) {
    auto barrier = barrier_of(facts, race);
    if (cause_of(race, barrier.has_value()) == cause) add(facts, places, bugs, race, barrier);
  }
  // What was merged may touch what stood apart.
  for (std::size_t before = bugs.size() + 1; bugs.size() < before;) {
    before = bugs.size();
    bugs = merge_by_stretch(facts, std::move(bugs));
  }
  return bugs;
}

}  // namespace ddpscope::detectors
