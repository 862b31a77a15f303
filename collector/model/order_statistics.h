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

// What a half, 95 and 99 in a hundred of at least one stay below, or are.
template <class T>
struct Percentiles {
  T p50{}, p95{}, p99{};
};
template <class T>
Percentiles<T> percentiles(std::vector<T>& values) {
  auto at = [&](std::size_t percent) { return value_at(values, (values.size() - 1) * percent / 100); };
  return {at(50), at(95), at(99)};
}

}  // namespace ddpscope::model
