// The parts that a merged file is made of: leaves, pyramids, lanes, columns, blocks of collectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "collector/merged/collective_code.h"
#include "collector/merged/column_sums.h"
#include "collector/merged/lanes.h"
#include "collector/merged/leaf_code.h"
#include "collector/merged/pyramid.h"

namespace ddpscope::merged {
namespace {

std::vector<PackedEvent> drawn_leaf(std::mt19937_64& random) {
  std::vector<PackedEvent> events(1 + random() % kLeafEvents);
  for (PackedEvent& event : events) {
    event.gap_ns = random() >> (1 + random() % 63);
    event.duration_ns = random() >> (1 + random() % 63);
    event.name = random() % 3 ? random() % 20 : random() % 40'000;
  }
  return events;
}

TEST(MergedLeaf, WhatIsPackedComesBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<PackedEvent> events = drawn_leaf(random);
    std::vector<unsigned char> bytes;
    pack_leaf(events, bytes);
    std::vector<PackedEvent> back(events.size());
    ASSERT_TRUE(unpack_leaf(bytes, back));
    for (std::size_t k = 0; k < events.size(); ++k) {
      ASSERT_EQ(back[k].gap_ns, events[k].gap_ns);
      ASSERT_EQ(back[k].duration_ns, events[k].duration_ns);
      ASSERT_EQ(back[k].name, events[k].name);
    }
  }
}

TEST(MergedLeaf, OneOutlierDoesNotMakeAllEventsLong) {
  std::vector<PackedEvent> events(kLeafEvents, PackedEvent{1000, 1000, 1});
  std::vector<unsigned char> even, uneven;
  pack_leaf(events, even);
  events[3].gap_ns = 1'000'000'000'000;
  pack_leaf(events, uneven);
  EXPECT_LE(uneven.size(), even.size() + 6);
}

TEST(MergedLeaf, DamagedBytesAreNotReadPastTheirEnd) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<unsigned char> bytes(random() % 200);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    std::vector<PackedEvent> out(1 + random() % kLeafEvents);
    if (unpack_leaf(bytes, out)) continue;
    for (const PackedEvent& event : out) ASSERT_EQ(event.duration_ns + event.gap_ns + event.name, 0u);
  }
}

TEST(MergedPyramid, LevelsEndAtAFew) {
  EXPECT_EQ(levels_of(0), 0u);
  EXPECT_EQ(levels_of(1), 1u);
  EXPECT_EQ(levels_of(kLeafEvents * kTopNodes), 1u);
  EXPECT_EQ(levels_of(kLeafEvents * kTopNodes + 1), 2u);
  EXPECT_EQ(nodes_at(kLeafEvents * kTopNodes + 1, 1), 2u);
  for (std::uint64_t events : {1u, 129u, 100'000u, 12'345'678u}) {
    unsigned levels = levels_of(events);
    EXPECT_LE(nodes_at(events, levels - 1), kTopNodes);
    if (levels > 1) {
      EXPECT_GT(nodes_at(events, levels - 2), kTopNodes);
    }
  }
}

TEST(MergedLanes, WhatOverlapsStandsDeeper) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(0, 100, false), 0);
  EXPECT_EQ(lanes.place(10, 20, false), 1);
  EXPECT_EQ(lanes.place(20, 30, false), 1);  // begins where the one before ended
  EXPECT_EQ(lanes.place(25, 25, false), 2);  // no time at all, but within
  EXPECT_EQ(lanes.place(100, 100, false), 0);
  EXPECT_EQ(lanes.place(100, 200, true), 0);  // never returns: keeps its depth
  EXPECT_EQ(lanes.place(300, 400, false), 1);
}

TEST(MergedLanes, TooManyAreLeftOut) {
  Lanes lanes;
  for (std::size_t i = 0; i < Lanes::kMostDepths; ++i) EXPECT_EQ(lanes.place(0, 100, false), i);
  EXPECT_EQ(lanes.place(0, 100, false), std::nullopt);
  EXPECT_EQ(lanes.place(100, 101, false), 0);
}

// Each column by itself, nanosecond by nanosecond.
TEST(MergedColumns, SumsAreThoseOfEachNanosecond) {
  constexpr std::int64_t kDuration = 1000;
  std::mt19937 random(9);
  for (std::uint32_t count : {1u, 2u, 8u, 64u}) {
    Columns columns(kDuration, count);
    ColumnSums sums(columns);
    std::vector<int> reading(kDuration + columns.width_ns() * count), waiting(reading.size());
    for (int i = 0; i < 12; ++i) {
      auto begin = static_cast<std::int64_t>(random() % kDuration);
      auto end = begin + static_cast<std::int64_t>(random() % static_cast<unsigned>(kDuration - begin + 1));
      bool reads = random() % 2;
      sums.add(reads ? Activity::kFileRead : Activity::kWaiting, begin, end);
      for (std::int64_t t = begin; t < end; ++t) ++(reads ? reading : waiting)[static_cast<std::size_t>(t)];
    }
    auto shares = sums.shares();
    ASSERT_EQ(shares.size(), count);
    for (std::uint32_t column = 0; column < count; ++column) {
      std::uint64_t width = columns.width_ns(), read_ns = 0, all = 0;
      for (std::uint64_t t = column * width; t < (column + 1) * width; ++t)
        read_ns += static_cast<unsigned>(reading[t]);
      for (std::uint64_t share : shares[column]) all += share;
      EXPECT_EQ(shares[column][static_cast<std::size_t>(Activity::kFileRead)], std::min(read_ns, width));
      EXPECT_EQ(all, width);
    }
  }
}

Collective drawn_collective(std::mt19937_64& random, std::size_t members, std::uint64_t sequence) {
  Collective collective;
  collective.sequence = sequence;
  collective.kind = random() % 2 ? Kind::kBarrier : Kind::kCollective;
  collective.flags = static_cast<std::uint8_t>(random() % 16);
  for (std::size_t i = 0; i <= random() % 2; ++i)
    collective.signatures.push_back({trace::Operation::kAllReduce, 7, 0,
                                     static_cast<std::int32_t>(random() % 5) - 1, random() >> random() % 60});
  for (std::size_t i = 0; i < members; ++i) {
    Arrival arrival;
    auto time = [&] { return static_cast<std::int64_t>(random() % 1'000'000'000'000); };
    if (random() % 4) arrival.arrival_ns = time();
    if (random() % 2) arrival.begin_ns = time();
    if (random() % 2) arrival.end_ns = random() % 3 ? time() : kNever;
    arrival.signature = static_cast<std::uint32_t>(random() % collective.signatures.size());
    arrival.flags = static_cast<std::uint8_t>(random() % 16);
    if (random() % 3)
      arrival.event = {static_cast<std::uint32_t>(random() % 100'000), random() % 1'000'000'000'000};
    collective.arrivals.push_back(arrival);
  }
  return collective;
}

TEST(MergedCollectives, WhatIsPutComesBack) {
  std::mt19937_64 random(10);
  for (int i = 0; i < 200; ++i) {
    std::size_t members = 1 + random() % 9, count = 1 + random() % 64;
    std::vector<Collective> block;
    for (std::size_t k = 0; k < count; ++k) block.push_back(drawn_collective(random, members, 1000 + k));
    ByteWriter bytes;
    put_collectives(block, bytes);
    auto back = get_collectives(bytes.bytes(), 1000, count, members);
    ASSERT_TRUE(back.has_value());
    for (std::size_t k = 0; k < count; ++k) {
      const Collective &one = block[k], &other = (*back)[k];
      ASSERT_EQ(one.sequence, other.sequence);
      ASSERT_EQ(one.kind, other.kind);
      ASSERT_EQ(one.signatures, other.signatures);
      for (std::size_t m = 0; m < members; ++m) {
        ASSERT_EQ(one.arrivals[m].arrival_ns, other.arrivals[m].arrival_ns);
        ASSERT_EQ(one.arrivals[m].begin_ns, other.arrivals[m].begin_ns);
        ASSERT_EQ(one.arrivals[m].end_ns, other.arrivals[m].end_ns);
        ASSERT_EQ(one.arrivals[m].flags, other.arrivals[m].flags);
        ASSERT_EQ(one.arrivals[m].signature, other.arrivals[m].signature);
        ASSERT_EQ(one.arrivals[m].event, other.arrivals[m].event);
      }
    }
  }
}

TEST(MergedCollectives, ANodeTellsFirstAndLast) {
  Collective collective;
  collective.signatures.emplace_back();
  for (std::int64_t arrival : {300, 100, 700, 500}) {
    collective.arrivals.emplace_back();
    collective.arrivals.back().arrival_ns = arrival;
    collective.arrivals.back().end_ns = 900;
  }
  CollectiveNode node = node_of(collective);
  EXPECT_EQ(node.first_arrival_ns, 100);
  EXPECT_EQ(node.last_arrival_ns, 700);
  EXPECT_EQ(node.latest_member, 2u);
  EXPECT_EQ(node.waited_ns, 600u);
  EXPECT_EQ(node.last_end_ns, 900);
  collective.flags = kNeverCompleted;
  EXPECT_EQ(node_of(collective).last_end_ns, kNever);
}

}  // namespace
}  // namespace ddpscope::merged
