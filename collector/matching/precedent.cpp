// The nearest places first, as in a job that repeats itself they tell all.
#include "collector/matching/precedent.h"

#include <algorithm>

namespace ddpscope::matching {

void Precedent::add(std::ptrdiff_t length) {
  second = std::max(second, std::min(length, longest));
  longest = std::max(longest, length);
}

namespace {

constexpr std::size_t kLongestPattern = 4096;
// Where runs of thousands of equal calls are of many lengths it would take their square.
constexpr std::size_t kMostComparisons = 4 * kLongestPrecedent;

// How many calls make the shortest pattern that the last ones are at least twice; 0: they are none.
std::size_t pattern_before(const CallAtPlace& at) {
  for (std::size_t calls = 1; calls <= std::min(at.here / 2, kLongestPattern); ++calls) {
    std::size_t i = at.here;
    while (i > at.here - calls && at.equal(i - 1, i - 1 - calls)) --i;
    if (i == at.here - calls) return calls;
  }
  return 0;
}

// Places from there on up to `here` tell nothing.
std::size_t begin_of_repetition(const CallAtPlace& at) {
  std::size_t calls = pattern_before(at);
  if (calls == 0) return at.here;
  for (std::size_t i = at.here - calls; i < at.here; ++i)
    if (at.is_other(i)) return at.here;
  std::size_t begin = at.here - calls;
  while (begin > 0 && at.equal(begin - 1, begin - 1 + calls))
    if (at.here - --begin > kLongestPrecedent) return 0;
  return begin + 1;
}

}  // namespace

Precedent find_precedent(const CallAtPlace& at) {
  Precedent found;
  std::size_t comparisons = 0;
  std::size_t longest = std::min(at.here, kLongestPrecedent);
  // False: neither this place, which has `most` calls before it, nor one farther away can show more.
  auto look_at = [&](std::size_t place, std::size_t most) {
    std::size_t wanted = std::min(most, longest), length = 0;
    if (found.second >= static_cast<std::ptrdiff_t>(wanted) || comparisons > kMostComparisons) return false;
    if (!at.is_call(place)) return true;
    while (length < wanted && at.equal(place - 1 - length, at.here - 1 - length)) ++length;
    comparisons += length;
    bool reaches_here = place > at.here && length == most && most < longest;
    if (reaches_here)
      found.follows = true;
    else
      found.add(static_cast<std::ptrdiff_t>(length));
    return true;
  };
  for (std::size_t place = begin_of_repetition(at); place-- > 0 && look_at(place, place);) {
  }
  for (std::size_t place = at.size; place-- > at.here + 1 && look_at(place, place - at.here - 1);) {
  }
  return found;
}

}  // namespace ddpscope::matching
