// The nearest places first, as in a job that repeats itself they tell all.
#include "collector/matching/precedent.h"

#include <algorithm>

namespace ddpscope::matching {

void Precedent::add(std::ptrdiff_t length) {
  second = std::max(second, std::min(length, longest));
  longest = std::max(longest, length);
}

Precedent find_precedent(std::size_t size, std::size_t here,
                         const std::function<bool(std::size_t, std::size_t)>& equal,
                         const std::function<bool(std::size_t)>& is_call) {
  Precedent found;
  std::size_t longest = std::min(here, kLongestPrecedent);
  // False: neither this place, which has `most` calls before it, nor one farther away can show more.
  auto look_at = [&](std::size_t place, std::size_t most) {
    most = std::min(most, longest);
    if (found.second >= static_cast<std::ptrdiff_t>(most)) return false;
    std::size_t length = 0;
    if (!is_call(place)) return true;
    while (length < most && equal(place - 1 - length, here - 1 - length)) ++length;
    found.add(static_cast<std::ptrdiff_t>(length));
    return true;
  };
  std::size_t run = here;  // where the run of equal calls right before the place begins
  while (run > 0 && equal(run - 1, here - 1)) --run;
  for (std::size_t place = std::min(run + 1, here); place-- > 0 && look_at(place, place);) {
  }
  for (std::size_t place = size; place-- > here + 2 && look_at(place, place - here - 1);) {
  }
  return found;
}

}  // namespace ddpscope::matching
