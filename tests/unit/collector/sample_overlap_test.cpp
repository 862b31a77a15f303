// Orders of samples without a trace: as many as a golden trace does not hold.
#include "collector/detectors/sample_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "collector/detectors/common_reading.h"

namespace ddpscope::detectors {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Indices = std::vector<std::size_t>;

Numbers shuffled(std::uint32_t count, std::uint64_t seed) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  std::mt19937_64 random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[random() % i]);
  return numbers;
}

Numbers part(const Numbers& order, std::size_t number, std::size_t of) {
  Numbers own;
  for (std::size_t i = number; i < order.size(); i += of) own.push_back(order[i]);
  return own;
}

// Read by one process, a millisecond after the other.
patterns::TrainingReads reads_of(std::int32_t rank, const Numbers& numbers) {
  patterns::TrainingReads reads{rank, {}, {rank, 0}};
  for (std::uint32_t number : numbers) {
    files::Item item{};
    item.key = number * 0x9E3779B97F4A7C15u;
    item.at_ns = static_cast<std::int64_t>(reads.by_itself.items.size()) * 1'000'000;
    item.exact = true;
    reads.by_itself.items.push_back(item);
  }
  return reads;
}

// The same, dealt out to workers in turn.
patterns::TrainingReads by_workers(const patterns::TrainingReads& reads, std::size_t workers) {
  patterns::TrainingReads dealt{reads.rank, {}, {reads.rank, 0}};
  for (std::size_t i = 0; i < workers; ++i)
    dealt.by_workers.push_back({reads.rank, static_cast<std::uint32_t>(i + 1), true});
  for (std::size_t i = 0; i < reads.by_itself.items.size(); ++i)
    dealt.by_workers[i % workers].items.push_back(reads.by_itself.items[i]);
  return dealt;
}

struct Ranks {
  std::vector<patterns::TrainingReads> reads;
  std::vector<RankSamples> samples;

  void add(patterns::TrainingReads own) {
    samples.push_back(keep_orders(own));
    reads.push_back(std::move(own));
  }
  Indices in_order() const { return SampleOverlap(samples).in_order_with(0, 1); }
  bool each_reads_all() const {
    return SampleOverlap(samples).each_reads_all(
        [&](std::size_t rank, std::size_t most) { return first_in_time(reads[rank], most); });
  }
};

TEST(SampleOverlap, TheSameOrderIsFoundWhoeverReads) {
  Numbers order = shuffled(5000, 1);
  for (std::size_t workers : {1u, 3u}) {
    Ranks ranks;
    for (std::int32_t rank = 0; rank < 3; ++rank) ranks.add(by_workers(reads_of(rank, order), workers));
    ranks.add(by_workers(reads_of(3, shuffled(5000, 2)), workers));
    EXPECT_EQ(ranks.in_order(), (Indices{1, 2})) << workers;
  }
}

TEST(SampleOverlap, WhatOneReadsBesidesTakesNothingAway) {
  Numbers order = shuffled(5000, 1), longer = order;
  for (std::uint32_t other = 5000; other < 8000; ++other) longer.push_back(other);
  Ranks ranks;
  ranks.add(reads_of(0, longer));
  ranks.add(reads_of(1, order));
  EXPECT_EQ(ranks.in_order(), Indices{1});
}

TEST(SampleOverlap, PartsAreNotTheSame) {
  Numbers order = shuffled(6000, 1);
  Ranks ranks;
  for (std::size_t rank = 0; rank < 3; ++rank)
    ranks.add(reads_of(static_cast<std::int32_t>(rank), part(order, rank, 3)));
  EXPECT_EQ(ranks.in_order(), Indices{});
  EXPECT_FALSE(ranks.each_reads_all());
}

// Of `epochs` epochs.
Ranks read_for(std::size_t epochs, std::size_t ranks, bool dealt_out) {
  Ranks all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Numbers own;
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      Numbers order = shuffled(3000, dealt_out ? epoch : epoch * ranks + rank);
      Numbers read = dealt_out ? part(order, rank, ranks) : order;
      own.insert(own.end(), read.begin(), read.end());
    }
    all.add(by_workers(reads_of(static_cast<std::int32_t>(rank), own), 2));
  }
  return all;
}

TEST(SampleOverlap, EachGoesThroughAllInAnOrderOfItsOwn) {
  Ranks ranks = read_for(2, 4, false);
  EXPECT_EQ(ranks.in_order(), Indices{});
  EXPECT_TRUE(ranks.each_reads_all());
}

TEST(SampleOverlap, PartsDealtOutAnewAddUpToAllButLate) {
  for (std::size_t ranks : {2u, 4u}) {
    Ranks dealt = read_for(6 * ranks, ranks, true);
    EXPECT_EQ(dealt.in_order(), Indices{});
    EXPECT_FALSE(dealt.each_reads_all());
  }
}

TEST(SampleOverlap, OneEpochSaysNothingOfWhetherEachReadsAll) {
  EXPECT_FALSE(read_for(1, 4, false).each_reads_all());
}

TEST(SampleOrders, EachSampleOnce) {
  RankSamples samples = keep_orders(reads_of(0, {7, 8, 7, 9, 8}));
  EXPECT_EQ(samples.reads, 5u);
  EXPECT_EQ(samples.by_itself.samples.size(), 3u);
  EXPECT_EQ(samples.last_ns, 4'000'000);
}

std::vector<Reading> common_of(const std::vector<patterns::TrainingReads>& ranks) {
  return find_common_reading(ranks.size(), [&](std::size_t rank) { return ranks[rank]; });
}

// Of three epochs the first ranks have lost the records, or the readings, of some.
TEST(CommonReading, IsOfOnePassWhoseRecordsAllRanksHave) {
  Numbers order = shuffled(100, 1), three;
  for (int epoch = 0; epoch < 3; ++epoch) three.insert(three.end(), order.begin(), order.end());
  std::vector<patterns::TrainingReads> ranks(4, reads_of(0, three));
  for (files::Item& item : ranks[1].by_itself.items) item.exact = item.at_ns >= 120'000'000;
  for (files::Item& item : ranks[2].by_itself.items) item.exact = item.at_ns < 150'000'000;
  auto& kept = ranks[3].by_itself.items;
  std::erase_if(kept, [](const files::Item& item) { return item.at_ns < 30'000'000; });
  std::vector<Reading> common = common_of(ranks);
  ASSERT_EQ(common.size(), 4u);
  for (const Reading& reading : common) {
    EXPECT_EQ(reading.sample, common.front().sample);
    EXPECT_EQ(reading.pass, 1u);
    EXPECT_EQ(reading.at_ns, common.front().at_ns);
  }
  for (files::Item& item : ranks[2].by_itself.items) item.exact = false;
  EXPECT_TRUE(common_of(ranks).empty());
}

// Nearer in time may be two of which one ends a pass and one begins the next.
TEST(CommonReading, OfOrdersOfTheirOwnIsOfOnePass) {
  std::vector<Reading> common =
      common_of({reads_of(0, {1, 2, 3, 4, 1, 2, 3, 4}), reads_of(1, {4, 3, 1, 2, 4, 3, 1, 2})});
  ASSERT_EQ(common.size(), 2u);
  EXPECT_EQ(common[0].pass, common[1].pass);
}

TEST(Numbering, IsInTheOrderOfMeeting) {
  model::Numbering<std::uint32_t> numbers;
  std::mt19937 random(3);
  std::vector<std::uint32_t> keys(100'000);
  std::generate(keys.begin(), keys.end(), random);
  keys.push_back(0);
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (std::uint32_t i = 0; i < keys.size(); ++i) ASSERT_EQ(numbers.add(keys[i]), i);
  for (std::uint32_t i = 0; i < keys.size(); ++i) ASSERT_EQ(numbers.find(keys[i]), i);
  EXPECT_FALSE(numbers.add_new(keys.front()));
  EXPECT_EQ(numbers.size(), keys.size());
  EXPECT_EQ(numbers.find(keys.back() == 1 ? 2 : 1), numbers.kUnknown);
}

}  // namespace
}  // namespace ddpscope::detectors
