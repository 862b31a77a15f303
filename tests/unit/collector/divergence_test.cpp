// One rank deviates once from a program that repeats itself, while hosts run ahead: one divergence, and that
// rank.
#include "collector/matching/divergence.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/collector/recorded.h"

namespace ddpscope::matching {
namespace {

using ::testing::ElementsAre;
using ::testing::Values;
using Program = std::vector<std::string>;

constexpr const char* kGradients = "ncclAllReduce count=1000 reduction=avg stack=\"ddp.py:5 reduce\"";
constexpr const char* kFewer = "ncclAllReduce count=500 reduction=avg stack=\"ddp.py:5 reduce\"";
constexpr const char* kLosses = "ncclAllGather count=16 stack=\"train.py:30 log\"";
constexpr const char* kEvaluation = "ncclAllGather count=64 stack=\"eval.py:8 gather\"";
constexpr const char* kBarrier = "ncclAllReduce count=1 stack=\"train.py:50 barrier\"";
constexpr std::size_t kSteps = 60;

// Steps of some reductions; behind every `every`th of them another collective.
struct Shape {
  std::size_t buckets;
  const char* tail;
  std::size_t every;

  Program steps(std::size_t count) const {
    Program program;
    for (std::size_t step = 1; step <= count; ++step) {
      program.insert(program.end(), buckets, kGradients);
      if (step % every == 0) program.emplace_back(tail);
    }
    return program;
  }
};

std::string calls(int rank, const Program& program) {
  std::string text;
  double at = 0.2;
  for (const std::string& call : program)
    text += fmt::format("r{} {:.4f} +0.0001 {} communicator=1 datatype=f32 stream=0x7\n", rank, at += 0.001,
                        call);
  return text;
}

// All ranks but the last run one program, the last another.
Divergences divergences_of(int world, const Program& program, const Program& of_last) {
  std::string text;
  for (int r = 0; r < world; ++r)
    text += fmt::format(
        "process r{0} pid=1{0} rank={0} world={1} until=60\n"
        "r{0} 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank={0} size={1}\n{2}",
        r, world, calls(r, r == world - 1 ? of_last : program));
  auto reading = tests::Recorded(text).read();
  EXPECT_TRUE(reading.ok()) << reading.error().what;
  return find_divergences(find_collectives(reading->job));
}

class OneDeviation : public testing::TestWithParam<Shape> {
 protected:
  // `deviate` changes the program from the given call on; all hosts stop so many calls behind it.
  template <class Deviate>
  void expect_one(DivergenceKind kind, Deviate&& deviate) const {
    Program program = GetParam().steps(kSteps);
    std::size_t at = GetParam().steps(25).size();  // after two rounds or more of any shape
    for (int world : {2, 3, 4})
      for (std::size_t ahead : {GetParam().steps(GetParam().every).size() + 4, program.size() - at - 1}) {
        Program changed = program;
        deviate(changed, changed.begin() + static_cast<std::ptrdiff_t>(at));
        std::size_t stop = std::min({at + ahead, program.size(), changed.size()});
        Program first(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(stop));
        changed.resize(stop);
        if (first == changed) continue;  // it does not show
        SCOPED_TRACE(fmt::format("{} ranks, {} calls ahead", world, ahead));
        Divergences found = divergences_of(world, first, changed);
        ASSERT_EQ(found.divergences.size(), 1u);
        EXPECT_THAT(found.divergences[0].odd, ElementsAre(world - 1));
        EXPECT_TRUE(found.divergences[0].decided);
        EXPECT_EQ(found.divergences[0].kind, kind);
      }
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, OneDeviation,
                         Values(Shape{1, kLosses, 1}, Shape{1, kBarrier, 1}, Shape{2, kLosses, 1},
                                Shape{2, kBarrier, 1}, Shape{4, kLosses, 1}, Shape{1, kLosses, 10},
                                Shape{2, kBarrier, 10}, Shape{4, kBarrier, 10}));

TEST_P(OneDeviation, AnotherCountIsDifferent) {
  expect_one(DivergenceKind::kDifferent, [](Program&, Program::iterator at) { *at = kFewer; });
}

TEST_P(OneDeviation, ACallLeftOutIsMissing) {
  expect_one(DivergenceKind::kMissing, [](Program& program, Program::iterator at) {
    program.erase(std::find(at, program.end(), GetParam().tail));
  });
}

TEST_P(OneDeviation, ACallOnceMoreIsSurplus) {
  // Of two calls in turns, one more of one is the other left out; told of a barrier if one is.
  bool in_turns = GetParam().buckets == 1 && GetParam().every == 1 && GetParam().tail == kLosses;
  expect_one(in_turns ? DivergenceKind::kMissing : DivergenceKind::kSurplus,
             [](Program& program, Program::iterator at) {
               program.insert(std::find(at, program.end(), GetParam().tail), GetParam().tail);
             });
}

TEST_P(OneDeviation, TwoCallsInAnotherOrderAreToldOnce) {
  Program program = GetParam().steps(kSteps), changed = program;
  auto tail = std::find(changed.begin() + static_cast<std::ptrdiff_t>(GetParam().steps(25).size()),
                        changed.end(), std::string(GetParam().tail));
  std::iter_swap(tail, tail - 1);
  for (int world : {2, 3, 4}) {
    SCOPED_TRACE(fmt::format("{} ranks", world));
    Divergences found = divergences_of(world, program, changed);
    ASSERT_EQ(found.divergences.size(), 1u);
    EXPECT_THAT(found.divergences[0].odd, ElementsAre(world - 1));
  }
}

// A step or an evaluation more is one divergence, however many calls it has.
TEST(Divergence, AStretchThatOneSideHasAloneIsOne) {
  Program program;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 0; step < 5; ++step) program.insert(program.end(), {kGradients, kFewer, kLosses});
    program.insert(program.end(), {kEvaluation, kEvaluation, kBarrier});
  }
  auto with = [&](std::size_t at, Program more) {
    Program changed = program;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    return changed;
  };
  constexpr std::size_t kRound = 18;
  Program step_more = with(2 * kRound + 15, {kGradients, kFewer, kLosses});
  Program evaluation_more = with(2 * kRound + 6, {kEvaluation, kEvaluation, kBarrier});
  for (int world : {2, 3, 4})
    for (const Program& changed : {step_more, evaluation_more}) {
      for (bool longer : {false, true}) {
        Divergences found =
            longer ? divergences_of(world, program, changed) : divergences_of(world, changed, program);
        ASSERT_EQ(found.divergences.size(), 1u) << world;
        EXPECT_TRUE(found.divergences[0].decided);
        // Between two ranks the longer one is odd; else the last one.
        EXPECT_THAT(found.divergences[0].odd, ElementsAre(world == 2 && !longer ? 0 : world - 1));
      }
    }
}

// Nobody has evaluated yet: whether the one is a step ahead or the other behind nothing tells.
TEST(Divergence, BeforeTheFirstEvaluationOfTwoRanksNothingDecides) {
  Program program;
  for (int step = 0; step < 5; ++step) program.insert(program.end(), {kGradients, kLosses});
  Program longer = program;
  longer.insert(longer.end(), {kGradients, kLosses, kEvaluation, kEvaluation});
  program.insert(program.end(), {kEvaluation, kEvaluation});
  Divergences found = divergences_of(2, program, longer);
  ASSERT_EQ(found.divergences.size(), 1u);
  EXPECT_FALSE(found.divergences[0].decided);
}

// Behind the look-ahead of the edit script.
TEST(Divergence, WhatFollowsALongRunTellsWhetherACallWasReplacedOrOnceMore) {
  Shape shape{1, kLosses, 100};
  Program program = shape.steps(250), replaced = program, longer = program;
  replaced[210] = kBarrier;
  longer.insert(longer.begin() + 210, kBarrier);
  program.emplace_back(kLosses);
  replaced.emplace_back(kLosses);
  longer.emplace_back(kLosses);
  for (int world : {2, 4}) {
    Divergences found = divergences_of(world, program, replaced);
    ASSERT_EQ(found.divergences.size(), 1u);
    EXPECT_THAT(found.divergences[0].odd, ElementsAre(world - 1));
    found = divergences_of(world, program, longer);
    ASSERT_EQ(found.divergences.size(), 1u);
    EXPECT_THAT(found.divergences[0].odd, ElementsAre(world - 1));
  }
}

// Of two ranks of which the second makes a call more in its first round, where they part.
Divergence one_more_in_the_first_round(std::size_t steps) {
  Program program = Shape{1, kLosses, 10}.steps(steps), longer = program;
  longer.insert(longer.begin() + 3, kGradients);
  Divergences found = divergences_of(2, program, longer);
  EXPECT_EQ(found.divergences.size(), 1u);
  return found.divergences.at(0);
}

// Whether the first round of one rank is too short or that of the other too long, nothing tells.
TEST(Divergence, BetweenTwoRanksTheFirstRoundDecidesNothing) {
  EXPECT_FALSE(one_more_in_the_first_round(12).decided);
}

// ... but later rounds do, of hosts that ran ahead.
TEST(Divergence, BetweenTwoRanksLaterRoundsDecide) {
  Divergence found = one_more_in_the_first_round(60);
  EXPECT_TRUE(found.decided);
  EXPECT_THAT(found.odd, ElementsAre(1));
}

}  // namespace
}  // namespace ddpscope::matching
