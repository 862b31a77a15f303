// Races on files by cause, and which of them are one bug.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Why nothing orders the two.
enum class RaceCause : std::uint8_t {
  kUnheeded,   // both ranks run a barrier in between, which the host of the second one does not wait for
  kRemoved,    // one deletes or renames away what the other uses
  kForgotten,  // one writes or makes what the other reads
};

// A barrier that both ranks run in between, and whose end the host of the second one does not wait for.
struct UnheededBarrier {
  std::uint32_t first_call, second_call;  // in Collectives::calls: of the first rank, of the second
};

// Races of one cause that one barrier would mend.
struct RaceBug {
  std::string change_place, use_place;
  std::vector<const patterns::FileRace*> races;
  std::vector<UnheededBarrier> barriers;  // of each race, or none at all

  std::set<std::int32_t> users, changers;
  std::set<files::Name> names;
};

// The last barrier between the two accesses that only one of their ranks runs, in Collectives::calls: its
// communicator lacks the other.
std::optional<std::uint32_t> barrier_of_others(const Facts& facts, const patterns::FileRace& race);

struct RaceSpan {
  std::int64_t first_ns = ordering::kNever, last_ns = 0;
};

std::vector<RaceBug> find_race_bugs(const Facts& facts, RaceCause cause);

// The race that tells the bug: certain, then harmful, then early.
const patterns::FileRace& worst_of(const Facts& facts, const RaceBug& bug);
std::vector<std::int32_t> ranks_of(const RaceBug& bug);
RaceSpan span_of(const Facts& facts, const RaceBug& bug);
// Between the meetings of its ranks in which it lies: one meeting more would mend it.
findings::Place place_of(const Facts& facts, const RaceBug& bug);

// Where the access comes from, by its stack. A file that a process opens again from the same place has none:
// then the last time before that has one; or the opening itself, if none has.
model::EventRef stacked_opening(const Facts& facts, const files::Access& access);

inline const files::FileEvent& event_of(const Facts& facts, const files::Access& access) {
  return facts.names.events[access.event];
}
inline const files::FileEvent& opening_of(const Facts& facts, const files::Access& access) {
  return facts.names.events[access.opening];
}

}  // namespace ddpscope::detectors
