// The shapes of a communicator's collectives: where several are pending at once, where ranks never come, and
// where some were timed and others not. A rank's line holds one of them at a time.
#include "viewer/timeline/collective_walk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/gui/seeded_trace.h"
#include "viewer/timeline/collective_members.h"

namespace ddpscope::viewer {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::string beginning(int ranks) {
  return fmt::format(
      "let reduce = ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7 buffer=0x100\n"
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{100+r}} until=4\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=$r\n"
      "}}\n",
      ranks - 1, ranks);
}

std::vector<WholeCollective> seen(const merged::Reader& reader, TimeSpan shown, float width = 1e5f) {
  WalkBudget budget = WalkBudget::unlimited();
  return walk_collectives(reader, 0, {shown, 0, width}, budget).whole;
}
std::vector<WholeCollective> all_of(const merged::Reader& reader) {
  return seen(reader, {0, reader.job().duration_ns});
}

// Of a member from one collective to the next: no two parts overlap, and no hole lies over a part.
void expect_one_at_a_time(const std::vector<WholeCollective>& all) {
  for (std::size_t i = 0; i < all.front().shape.members.size(); ++i)
    for (std::size_t k = 1; k < all.size(); ++k) {
      const MemberShape &before = all[k - 1].shape.members[i], &own = all[k].shape.members[i];
      EXPECT_LE(before.to_ns, own.absent ? own.from_ns : own.came_ns) << "member " << i << " of #" << k;
      EXPECT_TRUE(own.takes_part || before.to_ns <= own.missing_ns) << "hole of " << i << " in #" << k;
      EXPECT_LE(own.from_ns, own.to_ns) << "member " << i << " of #" << k;
      EXPECT_TRUE(own.absent || own.came_ns <= own.from_ns) << "member " << i << " of #" << k;
    }
}

TEST(CollectiveShapeTest, WhatCompletesIsDrawnUntilTheNextIsIssued) {
  tests::TemporaryFolder folder;
  auto reader =
      tests::open_text(beginning(2) +
                           "r* 1.000 +0.001 $reduce\nr* 1.100 +0.001 $reduce\n"
                           "r* 1.200 +0.001 $reduce\nr* 1.300 +0.200 cudaStreamSynchronize stream=0x7\n",
                       folder);
  ASSERT_TRUE(reader);
  auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 3u);
  expect_one_at_a_time(all);
  EXPECT_EQ(all[0].shape.members[0].to_ns, 1100 * kMs);
  EXPECT_EQ(all[2].shape.members[0].to_ns, 1500 * kMs);
  for (const WholeCollective& own : all) EXPECT_EQ(own.shape.behind, 0u);
}

// Rank 1 dies; of the others each issues three more and waits.
TEST(CollectiveShapeTest, WhatARankNeverComesToStaysOpenAndTheLaterOnesWaitBehindIt) {
  tests::TemporaryFolder folder;
  auto reader =
      tests::open_text(beginning(3) +
                           "r* 1.000 +0.001 $reduce\nr* 1.010 +0.010 cudaStreamSynchronize stream=0x7\n"
                           "for i in 0..2 every 0.100 {\n  r0,r2 2.000 +0.001 $reduce\n}\n"
                           "r0,r2 2.300 inside cudaStreamSynchronize stream=0x7\n",
                       folder);
  ASSERT_TRUE(reader);
  std::int64_t end = reader->job().duration_ns;
  auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 4u);
  expect_one_at_a_time(all);
  const CollectiveShape& pending = all[1].shape;
  EXPECT_EQ(pending.members[0].came_ns, 2000 * kMs);
  EXPECT_EQ(pending.members[0].to_ns, end);
  EXPECT_TRUE(pending.members[0].never);
  EXPECT_EQ(pending.behind, 2u);
  EXPECT_TRUE(pending.members[1].absent);
  EXPECT_EQ(pending.members[1].from_ns, 2000 * kMs);
  EXPECT_EQ(pending.members[1].to_ns, end);
  for (std::size_t later : {2u, 3u}) {
    EXPECT_EQ(all[later].shape.behind, 0u);
    for (const MemberShape& member : all[later].shape.members) EXPECT_EQ(member.to_ns, member.from_ns);
  }
  // However little of it is in view, and whatever is beside it.
  auto late = seen(*reader, {3000 * kMs, 3100 * kMs});
  ASSERT_FALSE(late.empty());
  EXPECT_EQ(late.front().collective.sequence, 1u);
  EXPECT_EQ(late.front().shape.members[0].came_ns, 2000 * kMs);
  EXPECT_EQ(late.front().shape.members[1].to_ns, end);
}

// Of 24 ranks rank 20 does not come, rank 21 runs something else, rank 7 comes last.
TEST(CollectiveShapeTest, TheMembersThatMatterAreToldFirst) {
  std::string text =
      beginning(24) + "r* 1.000 +0.001 $reduce\nr* 1.010 +0.010 cudaStreamSynchronize stream=0x7\n";
  for (int rank = 0; rank < 24; ++rank)
    if (rank == 21)
      text += "r21 2.000 +0.001 ncclBroadcast communicator=1 count=7 datatype=f32 peer=0 stream=0x7\n";
    else if (rank != 20)
      text +=
          fmt::format("r{} {} +0.001 $reduce\n", rank, rank == 7 ? "2.500" : fmt::format("2.{:03}", rank));
  for (int rank = 0; rank < 24; ++rank)
    if (rank != 20) text += fmt::format("r{} 2.600 inside cudaStreamSynchronize stream=0x7\n", rank);
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(text, folder);
  ASSERT_TRUE(reader);
  auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 2u);
  const merged::CommunicatorRow& world = reader->communicators()[0];
  CollectiveSummary hung = summary_of(world, all[1].collective, all[1].shape, 16);
  ASSERT_EQ(hung.members.size(), 16u);
  EXPECT_EQ(hung.more, 8u);
  EXPECT_EQ(hung.members[0].text, "rank 20   does not run it");
  EXPECT_EQ(hung.members[1].text, "rank 21   at 2.000000 s  Broadcast float32×7 root 0");
  EXPECT_EQ(hung.members[2].text, "rank 7    at 2.500000 s  waits 1.50 s until the trace ends");
  EXPECT_EQ(hung.members[3].text, "rank 23   at 2.023000 s  waits 1.98 s until the trace ends");
  EXPECT_EQ(hung.facts, (std::vector<std::string>{"last to arrive: rank 7, 500 ms after the first",
                                                  "never completes, for 1.50 s until the trace ends"}));
  // Of one that completed, what hosts know of the transfer.
  CollectiveSummary done = summary_of(world, all[0].collective, all[0].shape, 16);
  ASSERT_EQ(done.facts.size(), 2u);
  EXPECT_EQ(done.facts[1], "transfer at most 20.0 ms: when hosts had waited for it");
  EXPECT_EQ(done.members[0].text, "rank 0    at 1.000000 s  waits 0 ns  leaves 1.020000 s");
}

// Hosts issue ten before the devices come to the first; in the fourth the last rank does something else.
TEST(CollectiveShapeTest, WhereHostsAreAheadADifferenceBeginsWhenTheDevicesComeToIt) {
  for (int ranks : {2, 4, 8})
    for (const char* other : {"ncclBroadcast communicator=1 count=4K datatype=f32 peer=0 stream=0x7",
                              "ncclAllReduce communicator=1 count=5 datatype=f32 stream=0x7"}) {
      std::string text = beginning(ranks);
      for (int k = 0; k < 10; ++k)
        for (int rank = 0; rank < ranks; ++rank) {
          bool odd = k == 3 && rank == ranks - 1;
          text += fmt::format("r{} 1.0{:02} +0.0001 {}\n", rank, 2 * k, odd ? other : "$reduce");
          if (k < 3)
            text += fmt::format(
                "r{}/2 1.{} +0.1 gpu kind=collective communicator=1 sequence={} thread=1 called=1.0{:02}\n",
                rank, k + 2, k, 2 * k);
        }
      text += "r* 1.050 inside cudaStreamSynchronize stream=0x7\n";
      tests::TemporaryFolder folder;
      auto reader = tests::open_text(text, folder);
      ASSERT_TRUE(reader);
      std::int64_t end = reader->job().duration_ns;
      auto all = all_of(*reader);
      ASSERT_GE(all.size(), 4u);
      expect_one_at_a_time(all);
      for (const MemberShape& member : all[3].shape.members) {
        EXPECT_EQ(member.came_ns, 1500 * kMs);
        EXPECT_EQ(member.to_ns, end);
        EXPECT_TRUE(member.never);
      }
      EXPECT_TRUE(all[3].shape.members.back().elsewhere);
      EXPECT_EQ(all[3].shape.behind, 6u);
      for (std::size_t later = 4; later < all.size(); ++later) {
        EXPECT_EQ(all[later].shape.behind, 0u);
        for (const MemberShape& member : all[later].shape.members) EXPECT_EQ(member.came_ns, end);
      }
      auto late = seen(*reader, {3000 * kMs, 3100 * kMs});
      ASSERT_EQ(late.size(), 1u);
      EXPECT_EQ(late[0].collective.sequence, 3u);
      auto placed = shape_at(*reader, 0, 3);
      ASSERT_TRUE(placed);
      EXPECT_EQ(placed->members[0].came_ns, 1500 * kMs);
    }
}

// The others give up: nothing tells when the device was done with what it never could do.
TEST(CollectiveShapeTest, WhatIsGivenUpStaysOpen) {
  tests::TemporaryFolder folder;
  auto reader =
      tests::open_text(beginning(3) +
                           "r* 1.000 +0.001 $reduce\nr* 1.010 +0.010 cudaStreamSynchronize stream=0x7\n"
                           "r1 1.500 +0.001 exit status=1\n"
                           "r0,r2 1.400 +0.001 $reduce\n"
                           "r0,r2 1.402 +0.300 cudaStreamSynchronize stream=0x7\n"
                           "r0,r2/2 1.700 +0.050 ncclCommAbort communicator=1\n",
                       folder);
  ASSERT_TRUE(reader);
  auto late = seen(*reader, {2000 * kMs, 2100 * kMs});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_TRUE(late[0].shape.never);
  EXPECT_EQ(late[0].shape.members[2].to_ns, reader->job().duration_ns);
  EXPECT_EQ(late[0].shape.members[1].to_ns, reader->job().duration_ns);
}

// Of rank 1 no wait covers the first; rank 0's is the one that never returns, and it has issued another one
// since.
TEST(CollectiveShapeTest, WhoseEndIsUnknownLeavesWhenTheOthersGoOn) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(beginning(2) +
                                     "r* 1.000 +0.001 $reduce\nr0 1.100 +0.001 $reduce\n"
                                     "r0 1.200 inside cudaStreamSynchronize stream=0x7\n",
                                 folder);
  ASSERT_TRUE(reader);
  auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 2u);
  expect_one_at_a_time(all);
  EXPECT_EQ(all[0].shape.members[0].to_ns, 1100 * kMs);
  EXPECT_EQ(all[0].shape.members[1].to_ns, 1100 * kMs);
  EXPECT_FALSE(all[0].shape.never);
  EXPECT_TRUE(all[1].shape.never);
}

// Ranks 0 and 2 were timed; of rank 1 there are the host's calls and the wait for all three.
TEST(CollectiveShapeTest, AMemberThatWasNotTimedLeavesWithTheOthers) {
  tests::TemporaryFolder folder;
  std::string text = beginning(3) +
                     "for i in 0..2 every 0.001 {\n  r* 1.000 +0.0005 $reduce\n}\n"
                     "r* 1.100 +0.900 cudaStreamSynchronize stream=0x7\n";
  for (int k = 0; k < 3; ++k)
    text += fmt::format(
        "r0,r2/2 1.{}00 +0.{}50 gpu kind=collective communicator=1 sequence={} thread=1 called=1.{:04}\n",
        2 + 2 * k, 1, k, 10 * k);
  auto reader = tests::open_text(text, folder);
  ASSERT_TRUE(reader);
  auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 3u);
  expect_one_at_a_time(all);
  ASSERT_TRUE(all[0].shape.members[0].timed);
  ASSERT_FALSE(all[0].shape.members[1].timed);
  EXPECT_EQ(all[0].shape.members[1].to_ns, 1350 * kMs);
  EXPECT_EQ(all[1].shape.members[1].from_ns, 1350 * kMs);
  EXPECT_EQ(all[1].shape.members[1].to_ns, 1550 * kMs);
  EXPECT_EQ(all[2].shape.members[1].to_ns, 2000 * kMs);  // when its host's wait was over
  // Nothing is wrong: issued long before the stream is free is no arrival.
  EXPECT_EQ(all[0].shape.members[0].came_ns, 1200 * kMs);
}

TEST(CollectiveShapeTest, OfTwoThatDifferNeitherIsTheRuleAndOfThreeTheTwoAre) {
  for (int ranks : {2, 3}) {
    tests::TemporaryFolder folder;
    auto reader = tests::open_text(beginning(ranks) +
                                       "r0 1.0 +0.001 ncclBroadcast communicator=1 count=1M datatype=f32 "
                                       "peer=0 stream=0x7 buffer=0x200\n"
                                       "r1" +
                                       (ranks == 3 ? ",r2" : "") +
                                       " 1.0 +0.001 $reduce\n"
                                       "r* 1.1 inside cudaStreamSynchronize stream=0x7\n",
                                   folder);
    ASSERT_TRUE(reader);
    auto all = all_of(*reader);
    ASSERT_EQ(all.size(), 1u);
    const CollectiveShape& shape = all[0].shape;
    EXPECT_EQ(shape.contested, ranks == 2);
    EXPECT_TRUE(shape.members[0].elsewhere);
    EXPECT_EQ(shape.members[1].takes_part, ranks == 3);
    EXPECT_EQ(shape.first_ns, 1000 * kMs);
    EXPECT_NE(member_text(all[0].collective, shape, 0).find("Broadcast"), std::string::npos);
    EXPECT_NE(member_text(all[0].collective, shape, 1).find("AllReduce"), std::string::npos);
  }
}

// Of one rank: calls at drawn times, most of them timed or not, some of another kind, and waits for them.
class RankDraw {
 public:
  RankDraw(std::mt19937& random, int rank)
      : random_(random), rank_(rank), us_(draw(0, 400'000)), free_us_(us_) {}

  std::string text() {
    int calls = draw(1, 12);
    bool timed = draw(0, 2) > 0;
    for (int sequence = 0; sequence < calls; ++sequence) {
      us_ += draw(20, draw(0, 1) ? 100 : 50'000);
      add(us_, 10, draw(0, 30) ? "$reduce" : "ncclAllReduce communicator=1 count=2 datatype=f64 stream=0x7");
      if (timed && draw(0, 9) > 0) add_time(sequence);
      if (draw(0, 3) == 0) add_wait();
    }
    if (draw(0, 1))
      text_ += fmt::format("r{} {} inside cudaStreamSynchronize stream=0x7\n", rank_, at(us_ + 15));
    return text_;
  }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  static std::string at(int us) { return fmt::format("${{1+{}*0.000001}}", us); }
  void add(int us, int took_us, const std::string& call, const char* thread = "") {
    text_ += fmt::format("r{}{} {} +${{{}*0.000001}} {}\n", rank_, thread, at(us), took_us, call);
  }
  void add_time(int sequence) {
    free_us_ = std::max(us_, free_us_) + draw(1, 30'000);
    int took = draw(1, 20'000);
    add(free_us_, took,
        fmt::format("gpu kind=collective communicator=1 sequence={} thread=1 called={}", sequence,
                    at(us_ + 1)),
        "/2");
    free_us_ += took;
  }
  void add_wait() {
    int took = std::max(free_us_ - us_, 0) + draw(100, 200'000);
    add(us_ + 15, took, "cudaStreamSynchronize stream=0x7");
    us_ += 15 + took;
  }

  std::mt19937& random_;
  int rank_, us_, free_us_;
  std::string text_;
};

// Whatever is issued ahead, left out, timed or never waited for.
TEST(CollectiveShapeTest, NoTwoShapesOfARankEverOverlap) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    int ranks = std::uniform_int_distribution(2, 5)(random);
    std::string text = beginning(ranks);
    for (int rank = 0; rank < ranks; ++rank) text += RankDraw(random, rank).text();
    SCOPED_TRACE(seed);
    tests::TemporaryFolder folder;
    auto reader = tests::open_text(text, folder);
    ASSERT_TRUE(reader);
    auto all = reader->collectives(0, 0, 100);
    ASSERT_TRUE(all);
    std::vector<CollectiveShape> shapes = shapes_in_order(*reader, *all);
    std::vector<WholeCollective> whole;
    for (std::size_t k = 0; k < all->size(); ++k) whole.push_back({(*all)[k], shapes[k]});
    expect_one_at_a_time(whole);
  }
}

}  // namespace
}  // namespace ddpscope::viewer
