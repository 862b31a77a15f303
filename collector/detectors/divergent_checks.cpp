// Looks for the check before a parting, and in its function for the call that only one side makes.
#include "collector/detectors/divergent_checks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "collector/detectors/file_race_bugs.h"
#include "collector/detectors/story.h"
#include "collector/ordering/file_edges.h"
#include "collector/patterns/peer_news.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::detectors {
namespace {

using files::FileEvent;
using patterns::DivergentCheck;
using patterns::FileRace;

// When each rank knew that the last round was over that they all had behind them at these times. Empty
// without such a round.
std::map<std::int32_t, std::int64_t> known_ns(const Facts& facts,
                                              const std::map<std::int32_t, std::int64_t>& by_ns) {
  for (auto round = facts.rounds.all().rbegin(); round != facts.rounds.all().rend(); ++round) {
    std::map<std::int32_t, std::int64_t> known;
    for (const auto& member : facts.collectives.communicators[round->communicator].members) {
      auto by = by_ns.find(member.rank);
      if (by == by_ns.end()) continue;
      std::int64_t knew_ns = facts.device_order.complete_ns(member.calls[round->ordinal]);
      if (knew_ns <= by->second) known.emplace(member.rank, knew_ns);
    }
    if (known.size() == by_ns.size()) return known;
  }
  return {};
}

// Who knows first that all have met looks first, and may have made the file before the last one knows.
patterns::Stretches stretches_of(const Facts& facts, const Parting& parting) {
  patterns::Stretches stretches;
  for (const auto& [rank, call] : parting.calls)
    stretches.to_ns[rank] = call ? call->begin_ns : ordering::kNever;
  stretches.from_ns = known_ns(facts, stretches.to_ns);
  return stretches;
}

using Frames = std::vector<std::string>;

bool is_of_the_language(std::string_view frame) {
  return findings::is_library_frame(frame) && !findings::is_in_package(frame);
}

Frames frames_of(const model::Job& job, model::EventRef event, bool with_packages) {
  Frames frames = stack_of(job, event);
  std::erase_if(frames, with_packages ? is_of_the_language : findings::is_library_frame);
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
std::pair<std::size_t, std::size_t> meet(const Frames& a, const Frames& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      if (function_of(a[i]) == function_of(b[j])) return {i, j};
  return {a.size(), b.size()};
}

// Where a call comes from the function that looks, or from its caller, and what it is.
std::optional<Guard> guard_by(const model::Job& job, const FileEvent& look, const FileEvent& missed,
                              const FileEvent& made, std::int32_t rank, model::EventRef call,
                              bool with_packages) {
  constexpr std::size_t kNear = 2;  // frames
  auto frames = [&](model::EventRef event) { return frames_of(job, event, with_packages); };
  std::size_t making = meet(frames(missed.event), frames(made.event)).first;
  Frames looking = frames(look.event), calling = frames(call);
  auto [here, there] = meet(looking, calling);
  if (here >= std::min(kNear, looking.size()) || here > making) return std::nullopt;
  return Guard{rank, looking[here], calling[there]};
}

// The innermost function that a look and a call have in common is an installed package's.
bool meet_in_package(const model::Job& job, model::EventRef look, model::EventRef call) {
  Frames looking = frames_of(job, look, true);
  std::size_t here = meet(looking, frames_of(job, call, true)).first;
  return here < looking.size() && findings::is_library_frame(looking[here]);
}

// The call on either side that stands behind the look, if any does. A function that looks and makes the file
// where it is missing guards nothing but that: what its caller does besides is another matter. What a package
// does between the program and the look matters only where the package makes the call as well.
Guard guard_of(const Facts& facts, const Parting& parting, const DivergentCheck& check) {
  const auto& events = facts.names.events;
  const FileEvent& made = events[check.made];
  const FileEvent& missed = events[check.missed.at(made.rank)];
  for (const auto* side : {&check.missed, &check.found})
    for (auto [rank, look] : *side) {
      const auto& call = parting.calls.at(rank);
      if (!call) continue;
      bool in_package = meet_in_package(facts.job, events[look].event, call->event);
      if (auto guard = guard_by(facts.job, events[look], missed, made, rank, call->event, in_package))
        return *guard;
    }
  return {};
}

// Of several the last that is made: nearest to where the ranks part.
std::optional<DivergentStory> explain(const Facts& facts, const patterns::ExistenceChecks& checks,
                                      const Parting& parting) {
  std::optional<DivergentStory> story;
  for (DivergentCheck& check : checks.find(stretches_of(facts, parting), parting.odd)) {
    Guard guard = guard_of(facts, parting, check);
    if (guard.rank < 0 || (story && check.made < story->check.made)) continue;
    story = DivergentStory{parting, std::move(check), std::move(guard), {}, {}};
  }
  return story;
}

// Where no call of a collective is recorded: a rank makes a file that it did not find, then, in the function
// that looked, waits for its peers; one that found the file comes to no wait there before it reads something
// too early.
class Races {
 public:
  Races(const Facts& facts, const patterns::ExistenceChecks& checks)
      : facts_(facts), checks_(checks), news_(facts.job, facts.order) {}

  // Of each two ranks one race: what they part over leads to all of them.
  void see(const RaceBug& bug) {
    std::set<std::pair<std::int32_t, std::int32_t>> seen;
    for (const FileRace* race : bug.races)
      if (seen.emplace(event_of(facts_, race->change).rank, event_of(facts_, race->use).rank).second)
        see(bug, *race);
  }

  std::vector<DivergentStory> take_stories() { return std::move(stories_); }

 private:
  void see(const RaceBug& bug, const FileRace& race) {
    const FileEvent& change = event_of(facts_, race.change);
    const FileEvent& use = event_of(facts_, race.use);
    patterns::Stretches stretches{{}, {{change.rank, change.end_ns + 1}, {use.rank, use.end_ns}}};
    for (DivergentCheck& check : checks_.find(stretches, {use.rank}))
      if (auto story = explain(race, std::move(check))) {
        story->names = bug.names;
        add(race, std::move(*story));
      }
  }

  const FileEvent& event(std::uint32_t index) const { return facts_.names.events[index]; }

  NextCall wait(const patterns::Taken& taken) const {
    return {taken.event, taken.begin_ns, "a call that waits for other ranks", "wait",
            "here it was told that another rank had come"};
  }

  // Whether the rank that found the file is told anything at this place by then.
  bool also_waits(ordering::ThreadId thread, std::int64_t from_ns, std::int64_t to_ns,
                  const std::string& place) {
    const auto& taken = news_.taken_by(thread);
    return std::any_of(taken.begin(), taken.end(), [&](const patterns::Taken& one) {
      if (one.begin_ns < from_ns || one.begin_ns > to_ns) return false;
      Frames frames = frames_of(facts_.job, one.event, true);
      return std::find(frames.begin(), frames.end(), place) != frames.end();
    });
  }

  std::optional<DivergentStory> explain(const FileRace& race, DivergentCheck check) {
    const FileEvent& made = event(check.made);
    auto [finder, look] = *check.found.begin();
    const FileEvent& found = event(look);
    const FileEvent& access =
        event_of(facts_, event_of(facts_, race.use).rank == finder ? race.use : race.change);
    ordering::ThreadId maker_thread = ordering::span_of(made).thread,
                       finder_thread = ordering::span_of(found).thread;
    auto waits = news_.first_told(maker_thread, made.end_ns, finder_thread, found.end_ns);
    if (!waits) return std::nullopt;
    auto other = news_.first_told(finder_thread, found.end_ns, maker_thread, made.end_ns);
    Parting parting;
    parting.calls[made.rank] = wait(*waits);
    parting.calls[finder] = other ? std::optional(wait(*other)) : std::nullopt;
    Guard guard = guard_of(facts_, parting, check);
    // It has left nothing out if it comes to that place before it uses what comes too early, or next.
    std::int64_t until_ns = other ? std::max(access.end_ns, other->begin_ns) : access.end_ns;
    if (guard.rank != made.rank || also_waits(finder_thread, found.end_ns, until_ns, guard.call_place))
      return std::nullopt;
    parting.place = {{}, event(check.missed.at(made.rank)).begin_ns, facts_.job.duration_ns, true};
    return DivergentStory{std::move(parting), std::move(check), std::move(guard), {&race}, {}};
  }

  // Ranks that part at one check, and all that follows from it.
  void add(const FileRace& race, DivergentStory story) {
    auto same = std::find_if(stories_.begin(), stories_.end(), [&](const DivergentStory& known) {
      return known.check.made == story.check.made && known.guard.call_place == story.guard.call_place;
    });
    if (same == stories_.end()) return stories_.push_back(std::move(story));
    same->check.missed.merge(story.check.missed);
    same->check.found.merge(story.check.found);
    same->parting.calls.merge(story.parting.calls);
    same->names.merge(story.names);
    same->races.push_back(&race);
  }

  const Facts& facts_;
  const patterns::ExistenceChecks& checks_;
  patterns::PeerNews news_;
  std::vector<DivergentStory> stories_;
};

bool follows_from(const std::vector<DivergentStory>& stories, const findings::Place& place) {
  return std::any_of(stories.begin(), stories.end(),
                     [&](const DivergentStory& story) { return in_place_of(place, story.parting.place); });
}

void complete_place(DivergentStory& story) {
  for (const auto& [rank, call] : story.parting.calls) story.parting.place.ranks.push_back(rank);
}

}  // namespace

bool in_place_of(const findings::Place& place, const findings::Place& other) {
  bool overlap = place.from_ns < other.to_ns && other.from_ns < place.to_ns;
  return overlap && std::find_first_of(place.ranks.begin(), place.ranks.end(), other.ranks.begin(),
                                       other.ranks.end()) != place.ranks.end();
}

std::string place_of_other(const Facts& facts, const Guard& guard, model::EventRef call) {
  if (findings::is_in_package(guard.look_place))
    for (const std::string& frame : stack_of(facts.job, call))
      if (function_of(frame) == function_of(guard.look_place)) return symbols::shortened_frame(frame);
  return facts.places.of(call);
}

std::vector<DivergentStory> find_parting_checks(const Facts& facts) {
  std::vector<Parting> partings = find_partings(facts);
  if (partings.empty()) return {};
  patterns::ExistenceChecks checks(facts.job, facts.names, facts.order);
  std::vector<DivergentStory> stories;
  for (const Parting& parting : partings)
    if (!follows_from(stories, parting.place))
      if (auto story = explain(facts, checks, parting)) stories.push_back(std::move(*story));
  return stories;
}

std::vector<DivergentStory> find_divergent_checks(const Facts& facts) {
  std::vector<DivergentStory> stories = find_parting_checks(facts);
  if (facts.file_races.races.empty()) return stories;
  patterns::ExistenceChecks checks(facts.job, facts.names, facts.order);
  Races other(facts, checks);
  for (const RaceBug& bug : find_race_bugs(facts, RaceCause::kForgotten)) other.see(bug);
  for (DivergentStory& story : other.take_stories()) {
    complete_place(story);
    if (!follows_from(stories, story.parting.place)) stories.push_back(std::move(story));
  }
  return stories;
}

}  // namespace ddpscope::detectors
