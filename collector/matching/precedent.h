// Which call comes in its turn: what was called before a place tells, if elsewhere in the job the same was.
#pragma once
#include <cstddef>
#include <functional>

namespace ddpscope::matching {

// Of a call at a place: how many of the calls right before it stand, one by one, also before such a call
// elsewhere.
struct Precedent {
  std::ptrdiff_t longest = -1;  // at the place that has most of them; -1: no such call elsewhere
  std::ptrdiff_t second = -1;   // at the next best place
  bool follows = false;         // there is one behind this place, of which nothing else tells

  bool any() const { return longest >= 0; }
  // One place may be chance, unless it has much more in common than any of the other call's.
  bool beats(const Precedent& other) const {
    return second > other.longest || (longest > 0 && longest > 2 * other.longest);
  }
  void add(std::ptrdiff_t length);
};

constexpr std::size_t kLongestPrecedent = 65'536;

// Of a call at the place `here` of a sequence of `size` calls (`here` may be `size`).
struct CallAtPlace {
  std::size_t size, here;
  std::function<bool(std::size_t, std::size_t)> equal;  // calls i and j are the same
  std::function<bool(std::size_t)> is_call;             // call i is the one in question
  std::function<bool(std::size_t)> is_other;            // call i is what another rank has at that place
};

// What shows nothing is left out. That a pattern was repeated up to the place tells not how often it is: of
// places within the same repetition, be it of one call or of whole steps, the first counts (unless the other
// call belongs to the pattern, for then its order is broken and not its end in question). Nor does what
// reaches back to `here` from a place after it.
Precedent find_precedent(const CallAtPlace& at);

}  // namespace ddpscope::matching
