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

  bool any() const { return longest >= 0; }
  // One place may be chance, unless it has much more in common than any of the other call's.
  bool beats(const Precedent& other) const {
    return second > other.longest || (longest > 0 && longest > 2 * other.longest);
  }
  void add(std::ptrdiff_t length);
};

constexpr std::size_t kLongestPrecedent = 65'536;

// In a sequence of `size` calls, for the place `here` (it may be `size`). equal(i, j): calls i and j are the
// same; is_call(i): call i is the one in question. What shows nothing is left out: a place in the same run of
// equal calls (that a call was repeated tells not how often), and, of a place after `here`, what reaches back
// to it.
Precedent find_precedent(std::size_t size, std::size_t here,
                         const std::function<bool(std::size_t, std::size_t)>& equal,
                         const std::function<bool(std::size_t)>& is_call);

}  // namespace ddpscope::matching
