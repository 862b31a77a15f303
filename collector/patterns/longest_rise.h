// How far a sequence rises.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace ddpscope::patterns {

// Length of the longest strictly increasing subsequence.
template <class Values>
std::size_t longest_rise(const Values& values) {
  std::vector<typename Values::value_type> ends;  // smallest last value of a row of each length
  for (const auto& value : values) {
    auto end = std::lower_bound(ends.begin(), ends.end(), value);
    if (end == ends.end())
      ends.push_back(value);
    else
      *end = value;
  }
  return ends.size();
}

}  // namespace ddpscope::patterns
