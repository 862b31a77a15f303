// Values by their place among others.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace ddpscope::model {

// What stands at this place, from 0, once they are sorted. They are left in another order.
template <class T>
T value_at(std::vector<T>& values, std::size_t place) {
  auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Of at least one; of an even number the upper one.
template <class T>
T median(std::vector<T>& values) {
  return value_at(values, values.size() / 2);
}

}  // namespace ddpscope::model
