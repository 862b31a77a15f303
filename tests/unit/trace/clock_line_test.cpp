// Ticks to nanoseconds.
#include "trace/read/clock_line.h"

#include <gtest/gtest.h>

#include "trace/write/clock.h"

namespace ddpscope::trace {
namespace {

TEST(ClockLine, GoesThroughItsTuples) {
  ClockLine line(ClockKind::kTsc, 0, {{1'000, 50'000'000, 70'000'000}, {21'000, 60'000'000, 80'000'000}});
  EXPECT_EQ(line.monotonic_ns(1'000), 50'000'000);
  EXPECT_EQ(line.monotonic_ns(21'000), 60'000'000);
  EXPECT_EQ(line.monotonic_ns(11'000), 55'000'000);
  EXPECT_EQ(line.monotonic_ns(0), 49'500'000) << "before the first tuple";
  EXPECT_EQ(line.realtime_ns(11'000), 75'000'000);
}

TEST(ClockLine, OrderOfTuplesDoesNotMatter) {
  ClockLine line(ClockKind::kTsc, 0, {{300, 30'000'000, 0}, {100, 10'000'000, 0}, {200, 19'999'000, 0}});
  EXPECT_DOUBLE_EQ(line.ns_per_tick(), 1e5);
}

TEST(ClockLine, TuplesTooCloseTogetherGiveWayToTheStatedRate) {
  std::vector<ClockTuple> close = {{0, 0, 0}, {1'000, 900, 900}};
  EXPECT_DOUBLE_EQ(ClockLine(ClockKind::kTsc, 2'000'000'000, close).ns_per_tick(), 0.5);
  EXPECT_DOUBLE_EQ(ClockLine(ClockKind::kTsc, 0, close).ns_per_tick(), 0.9);
}

TEST(ClockLine, MonotonicTicksAreNanoseconds) {
  ClockLine line(ClockKind::kMonotonicNs, 1'000'000'000, {{5, 5, 100}, {1'000'000'005, 1'000'000'005, 1}});
  EXPECT_EQ(line.monotonic_ns(77), 77);
}

TEST(ClockLine, WithoutTuplesOrWithAbsurdOnesItStillAnswers) {
  EXPECT_EQ(ClockLine(ClockKind::kTsc, 0, {}).monotonic_ns(5), 5);
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  for (std::uint64_t ticks : {std::uint64_t{0}, kMost / 2, kMost}) {
    ClockLine line(ClockKind::kTsc, 1, {{ticks, kMost, 0}, {kMost - ticks, 0, kMost}});
    line.realtime_ns(kMost);
    line.realtime_ns(0);
  }
}

TEST(ClockLine, FollowsTheHostsOwnClock) {
  Clock clock = host_clock();
  ClockTuple first = clock.now();
  timespec pause{0, 30'000'000};
  nanosleep(&pause, nullptr);
  ClockTuple middle = clock.now();
  nanosleep(&pause, nullptr);
  ClockLine line(clock.kind, clock.tick_hz, {first, clock.now()});
  double error_ns =
      static_cast<double>(line.monotonic_ns(middle.ticks)) - static_cast<double>(middle.monotonic_ns);
  EXPECT_LT(std::abs(error_ns), 1e6);
}

}  // namespace
}  // namespace ddpscope::trace
