// Edit distance over the look-ahead, filled from its far end so that the first step falls out.
#include "collector/matching/edit_script.h"

#include <algorithm>
#include <array>

namespace ddpscope::matching {

Step first_step(std::size_t first_size, std::size_t second_size,
                const std::function<int(std::size_t, std::size_t)>& cost) {
  std::size_t rows = std::min(first_size, kLookAhead), columns = std::min(second_size, kLookAhead);
  if (rows == 0 || columns == 0) return Step::kMatch;
  // rest[i][j]: what it costs from there on; nothing along the edges.
  std::array<std::array<int, kLookAhead + 1>, kLookAhead + 1> rest{};
  for (std::size_t i = rows; i-- > 0;)
    for (std::size_t j = columns; j-- > 0;)
      rest[i][j] = std::min({cost(i, j) + rest[i + 1][j + 1], kGap + rest[i + 1][j], kGap + rest[i][j + 1]});
  int own = cost(0, 0);
  bool same = own == 0 || own == kOtherSite;
  if (own + rest[1][1] == rest[0][0]) return same ? Step::kMatch : Step::kDifferent;
  if (rest[1][0] == rest[0][1])
    return Step::kDifferent;  // both ends are too near to tell which one is left out
  return rest[1][0] < rest[0][1] ? Step::kOnlyFirst : Step::kOnlySecond;
}

}  // namespace ddpscope::matching
