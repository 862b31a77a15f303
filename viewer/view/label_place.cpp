// Where a text stands in a row.
#include "viewer/view/label_place.h"

#include <algorithm>

namespace ddpscope::viewer {

std::optional<LabelPlace> place_beside(Stretch anchor, float width, float gap, Stretch row,
                                       std::vector<Stretch> taken, const std::vector<Stretch>& lines) {
  auto meets = [](const std::vector<Stretch>& all, Stretch own) {
    return std::any_of(all.begin(), all.end(), [&](const Stretch& other) { return other.meets(own); });
  };
  std::sort(taken.begin(), taken.end(), [](const Stretch& a, const Stretch& b) { return a.left < b.left; });
  Stretch left{anchor.left - gap - width, anchor.left - gap},
      right{anchor.right + gap, anchor.right + gap + width};
  for (const Stretch& other : taken)
    if (other.meets(right)) right = {other.right + gap, other.right + gap + width};
  std::optional<LabelPlace> found;
  for (Stretch own : {left, right}) {
    if (own.left < row.left || own.right > row.right || meets(taken, own)) continue;
    bool crossed = meets(lines, own);
    if (!found || (found->crossed && !crossed)) found = {own, crossed};
  }
  return found;
}

}  // namespace ddpscope::viewer
