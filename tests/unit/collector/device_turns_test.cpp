// What is lost of a turn whose collectives are given: who came when, and had to do with others meanwhile.
#include "collector/patterns/device_turns.h"

#include <gtest/gtest.h>

namespace ddpscope::patterns {
namespace {

constexpr std::int64_t kUs = 1'000;

// Of one member, in microseconds: since when its stream was free, how long that took, what it waited
// elsewhere.
struct Came {
  std::int64_t begin, length, foreign, idle;
};

MemberComing coming_of(const Came& came) {
  return {0, came.begin * kUs, came.length * kUs, came.foreign * kUs, came.idle * kUs, kUnknown, 0};
}

// Two members, whose collectives follow each other while devices go on; all begin anew with the turn.
DeviceTurn turn_of(const std::vector<std::pair<Came, Came>>& rows) {
  std::vector<DeviceTurn::Row> all;
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    all.push_back({i, 0, false, {coming_of(rows[i].first), coming_of(rows[i].second)}});
  return DeviceTurn(std::move(all), 79'063 * kUs, 0);
}

// The second member waits 21 ms for a third one, and is behind for the whole turn. The first is ahead, and
// waits for a fourth one later on, for longer than that.
const std::vector<std::pair<Came, Came>> kHybrid = {
    {{28'486, 21'351, 7'161, 28'486}, {49'446, 390, 28'119, 49'446}},
    {{50'486, 3'525, 26'288, 649}, {53'621, 390, 29'420, 3'785}},
    {{54'661, 3'527, 30'463, 650}, {57'796, 392, 30'722, 3'785}},
    {{58'836, 3'526, 34'638, 648}, {61'971, 392, 32'022, 3'783}},
    {{63'011, 3'526, 38'813, 649}, {66'146, 392, 33'323, 3'783}},
    {{67'186, 3'527, 42'988, 649}, {70'321, 391, 34'625, 3'783}},
    {{71'361, 3'527, 44'290, 648}, {74'496, 390, 35'926, 3'784}},
    {{75'536, 3'525, 44'941, 648}, {78'671, 392, 36'576, 3'785}}};

TEST(DeviceTurnTest, WhoWaitedForOthersIsBehindByThatAllTheTime) {
  DeviceTurn turn = turn_of(kHybrid);
  constexpr std::int64_t kOwn = 3 * kUs;  // of the 20,961 us that it comes later at first
  EXPECT_EQ(turn.late()[1].least_ns, kOwn);
  EXPECT_EQ(turn.lost_by({false, true}).least_ns, kOwn);
}

TEST(DeviceTurnTest, WhoWaitedForNobodyIsLate) {
  auto rows = kHybrid;
  for (auto& [one, other] : rows) one.foreign = other.foreign = 0;
  DeviceTurn turn = turn_of(rows);
  EXPECT_GT(turn.late()[1].least_ns, 20'000 * kUs);
  EXPECT_GT(turn.lost_by({false, true}).least_ns, 20'000 * kUs);
}

TEST(DeviceTurnTest, WhatIsWaitedForAgainWhileDevicesGoOnIsLostOnce) {
  std::vector<std::pair<Came, Came>> rows(8, {{10'000, 3'000, 0, 500}, {12'000, 1'000, 0, 2'500}});
  EXPECT_EQ(turn_of(rows).lost_by({false, true}).least_ns, 2'000 * kUs);
}

// The root of a broadcast leaves at once, the second member comes late, and the third has waited for it
// there: both are as late for what follows.
TEST(DeviceTurnTest, WhoWaitedInABroadcastIsNotLate) {
  constexpr std::int64_t kWait = 41'000 * kUs;
  MemberComing in_time = coming_of({30'000, 41'000, 0, 30'000}), late = coming_of({71'000, 0, 0, 71'000});
  MemberComing held_up = late;
  held_up.waited_ns = kWait;
  DeviceTurn turn({{0, 0, false, {in_time, late, held_up}}}, 100'000 * kUs, 0);
  EXPECT_EQ(turn.late()[1].least_ns, kWait);
  EXPECT_EQ(turn.late()[2].least_ns, 0);
  EXPECT_EQ(turn.lost_by({false, true, false}).least_ns, kWait);
}

}  // namespace
}  // namespace ddpscope::patterns
