// Ranks that part because they looked for a file and saw different things.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/partings.h"
#include "collector/patterns/existence_checks.h"

namespace ddpscope::detectors {

// The function that looks, itself or by one of its own that does only that, also makes the file and the call:
// its frames in the two stacks.
struct Guard {
  std::int32_t rank = -1;  // that makes the call; -1: the check guards none
  std::string look_place, call_place;
};

// The check by which they part, and the call that one side makes because of its answer.
struct DivergentStory {
  Parting parting;
  patterns::DivergentCheck check;
  Guard guard;
  // What follows, where that is what shows that the ranks parted.
  std::vector<const patterns::FileRace*> races;
  std::set<files::Name> names;  // of all files that are read too early because of it
};

// Where another rank makes the call that it makes in place of the guarded one: in the package that looks, if
// the function that looks makes it.
std::string place_of_other(const Facts& facts, const Guard& guard, model::EventRef call);

// Where the calls of collectives part.
std::vector<DivergentStory> find_parting_checks(const Facts& facts);

// These, then what only races on files show: where no call of a collective is recorded, it is where in the
// program a rank learned that another one had come.
std::vector<DivergentStory> find_divergent_checks(const Facts& facts);

bool in_place_of(const findings::Place& place, const findings::Place& other);

// By the calls of process groups, what is not found already.
void detect_divergent_group_checks(const Facts& groups, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
