// Edit distance over the look-ahead, filled from its far end so that the first step falls out.
#include "collector/matching/edit_script.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace ddpscope::matching {
namespace {

// The cheapest way to the end; of several that cost the same, one that finds the most calls again.
struct Rest {
  int cost = 0;
  int found = 0;

  Rest after(int step_cost, bool finds) const { return {cost + step_cost, found + finds}; }
  bool operator<(const Rest& other) const {
    return std::tuple(cost, -found) < std::tuple(other.cost, -other.found);
  }
  bool operator==(const Rest&) const = default;
};

}  // namespace

Step first_step(std::size_t first_size, std::size_t second_size,
                const std::function<int(std::size_t, std::size_t)>& cost) {
  std::size_t rows = std::min(first_size, kLookAhead), columns = std::min(second_size, kLookAhead);
  if (rows == 0 || columns == 0) return Step::kMatch;
  // rest[i][j]: from there on; nothing along the edges.
  std::array<std::array<Rest, kLookAhead + 1>, kLookAhead + 1> rest{};
  for (std::size_t i = rows; i-- > 0;)
    for (std::size_t j = columns; j-- > 0;) {
      int pair = cost(i, j);
      rest[i][j] = std::min({rest[i + 1][j + 1].after(pair, pair == 0), rest[i + 1][j].after(kGap, false),
                             rest[i][j + 1].after(kGap, false)});
    }
  int own = cost(0, 0);
  bool same = own == 0 || own == kOtherSite;
  if (rest[1][1].after(own, own == 0) == rest[0][0]) return same ? Step::kMatch : Step::kDifferent;
  const Rest &without_first = rest[1][0], &without_second = rest[0][1];
  if (without_first == without_second)  // if nothing is found again, both ends are too near to tell
    return without_first.found ? Step::kOnlyOne : Step::kDifferent;
  return without_first < without_second ? Step::kOnlyFirst : Step::kOnlySecond;
}

}  // namespace ddpscope::matching
