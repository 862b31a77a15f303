// Races on files, sorted into bugs, and told.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// A barrier that both ranks run in between, and whose end the host of the second one does not wait for.
struct UnheededBarrier {
  std::uint32_t first_call, second_call;  // in Collectives::calls: of the first rank, of the second
};

// The races between two lines of the program.
struct RaceBug {
  std::string change_place, use_place;
  std::vector<const patterns::FileRace*> races;
  std::vector<UnheededBarrier> barriers;  // of each race, or none at all

  std::set<std::int32_t> users, changers;
  std::set<files::Name> names;
};

// Those with a barrier in between, or those without.
std::vector<RaceBug> find_race_bugs(const Facts& facts, bool with_barrier);

// All of a finding but slug, title and advice.
findings::Finding tell_race(const Facts& facts, const RaceBug& bug);
// "rank 1 reads /data/a at PLACE, which rank 0 writes at PLACE"
std::string describe_race(const Facts& facts, const RaceBug& bug);

// What coverage should say of pairs that could not be judged.
void add_race_coverage(const Facts& facts, const char* slug, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
