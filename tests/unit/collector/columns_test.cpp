// Columns give back what was put in, wherever runs begin and however far times lie apart.
#include "collector/matching/columns.h"

#include <gtest/gtest.h>

#include <random>

namespace ddpscope::matching {
namespace {

TEST(Columns, NumbersKeepTheirPlacesAcrossGaps) {
  std::mt19937 random(1);
  for (unsigned longest_run : {1u, 2u, 63u, 64u, 65u, 1000u}) {
    Numbers numbers;
    std::vector<std::uint32_t> expected;
    for (std::uint32_t next = 7; expected.size() < 5000; next += 1 + random() % 9)
      for (unsigned left = 1 + random() % longest_run; left > 0; --left) {
        numbers.push_back(next);
        expected.push_back(next++);
      }
    ASSERT_EQ(numbers.size(), expected.size());
    EXPECT_EQ(numbers.front(), expected.front());
    EXPECT_EQ(numbers.back(), expected.back());
    std::size_t place = 0;
    for (std::uint32_t number : numbers) {
      ASSERT_EQ(number, expected[place]);
      ASSERT_EQ(numbers[place], expected[place]);
      ASSERT_EQ(numbers.place_of(number), place);
      ++place;
    }
    EXPECT_EQ(place, expected.size());
    EXPECT_EQ(numbers.place_of(expected.back() + 1), expected.size());
  }
}

TEST(Columns, RepeatedValuesAreThoseOfTheirRows) {
  std::mt19937 random(2);
  RepeatedValues<std::uint64_t> values;
  std::vector<std::uint64_t> expected;
  while (expected.size() < 3000) {
    std::uint64_t value = random() % 3;
    for (unsigned left = 1 + random() % 100; left > 0; --left) {
      values.push_back(value);
      expected.push_back(value);
    }
  }
  for (std::uint32_t row = 0; row < expected.size(); ++row) ASSERT_EQ(values[row], expected[row]) << row;
}

// Within 4 s of each other, days apart, back in time.
TEST(Columns, TimesAreExactHoweverFarApart) {
  std::mt19937_64 random(3);
  Times times;
  std::vector<std::int64_t> expected;
  std::int64_t now = -5'000'000'000;
  for (int i = 0; i < 4000; ++i) {
    std::int64_t step = i % 7 == 0 ? 400'000'000'000'000 : i % 5 == 0 ? 4'294'967'295 : 1000;
    now += i % 11 == 0 ? -step : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(step + 1));
    times.push_back(now);
    expected.push_back(now);
  }
  for (std::uint32_t row = 0; row < expected.size(); ++row) ASSERT_EQ(times[row], expected[row]) << row;
}

TEST(Columns, ATimeCanBeSetAnew) {
  TimesAfter times;
  for (std::int64_t time : {10LL, 4'294'967'304LL, 4'294'967'305LL, 9LL, 10LL}) times.push_back(time, 10);
  times.set(0, 20'000'000'000, 10);
  times.set(1, 11, 10);
  EXPECT_EQ(times.at(0, 10), 20'000'000'000);
  EXPECT_EQ(times.at(1, 10), 11);
  EXPECT_EQ(times.at(2, 10), 4'294'967'305);
  EXPECT_EQ(times.at(3, 10), 9);
  EXPECT_EQ(times.at(4, 10), 10);
}

}  // namespace
}  // namespace ddpscope::matching
