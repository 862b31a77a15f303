// Where a text stands in a row beside what it is about.
#pragma once
#include <optional>
#include <vector>

namespace ddpscope::viewer {

struct Stretch {
  float left = 0, right = 0;  // px

  bool meets(const Stretch& other) const { return left < other.right && other.left < right; }
};

struct LabelPlace {
  Stretch at;
  bool crossed = false;  // by one of `lines`: it needs ground of its own
};

// Left of `anchor` (what lies from its left to its right edge) or in the first gap to its right, on nothing
// that is `taken` and preferably where none of `lines` runs. Nothing where neither has `width`, within `row`.
std::optional<LabelPlace> place_beside(Stretch anchor, float width, float gap, Stretch row,
                                       std::vector<Stretch> taken, const std::vector<Stretch>& lines);

}  // namespace ddpscope::viewer
