// What of two sets of runs differs, and what of that is no noise.
#include "collector/summary/difference.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "collector/model/order_statistics.h"

namespace ddpscope::summary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Summary run(double step_ms = 10, std::uint64_t calls = 2) {
  Summary summary;
  summary.version = "1.2.3";
  summary.ranks = 2, summary.steps = 20, summary.ranks_with_steps = {0, 1};
  summary.issued = {{"all-reduce of 8 float32 (avg) among 2 ranks", calls, 32, {0, 1}}};
  summary.durations = {{"step", 20, step_ms, step_ms * 2}};
  return summary;
}

Runs runs(const std::vector<double>& steps_ms) {
  Runs made;
  for (double ms : steps_ms) made.push_back(run(ms));
  return made;
}

// Runs of one job on a machine that is busy now and then.
class SameJob {
 public:
  std::vector<double> runs(std::size_t count) {
    std::vector<double> made(count);
    for (double& ms : made) ms = 10 * busy_(random_);
    return made;
  }

 private:
  std::mt19937 random_{1};
  std::lognormal_distribution<double> busy_{0, 0.5};
};

TEST(DifferenceTest, OfEqualRunsIsNothing) {
  Difference difference = compare(runs({10}), runs({10}));
  EXPECT_FALSE(difference.regression());
  EXPECT_TRUE(difference.found.empty() && difference.gone.empty() && difference.issued.empty());
}

TEST(DifferenceTest, FindingsByTheirIds) {
  Summary base = run(), now = run();
  base.findings = {{"a", "straggler", "warning", "t"}, {"b", "skipped-barrier", "error", "t"}};
  now.findings = {{"b", "skipped-barrier", "error", "t"}, {"c", "exposed-communication", "info", "t"}};
  Difference difference = compare({base}, {now});
  ASSERT_THAT(difference.found, SizeIs(1));
  EXPECT_EQ(difference.found[0].id, "c");
  EXPECT_EQ(difference.gone[0].id, "a");
  EXPECT_FALSE(difference.regression()) << "an info is none";
  now.findings[1].severity = "warning";
  EXPECT_TRUE(compare({base}, {now}).regression());
  EXPECT_FALSE(compare({base, now}, {now}).regression()) << "it is in one of the runs before";
}

Summary with_finding(const char* severity) {
  Summary summary = run();
  summary.findings = {{"a", "duplicate-checkpoint-write", severity, "t"}};
  return summary;
}

TEST(DifferenceTest, AFindingThatIsGraverIsARegressionAndOneThatIsLessGraveIsNot) {
  Summary info = with_finding("info"), warning = with_finding("warning"), error = with_finding("error");
  Difference worse = compare({warning}, {error});
  EXPECT_TRUE(worse.regression());
  EXPECT_TRUE(worse.found.empty() && worse.gone.empty() && worse.better.empty());
  EXPECT_THAT(to_text(worse),
              HasSubstr("worse   error: duplicate-checkpoint-write (finding a) (warning in BASE)"));
  EXPECT_THAT(to_json(worse), HasSubstr("\"base_severity\": \"warning\""));
  EXPECT_TRUE(compare({info}, {warning}).regression());
  Difference better = compare({error}, {warning});
  EXPECT_FALSE(better.regression());
  EXPECT_THAT(to_text(better),
              HasSubstr("better  warning: duplicate-checkpoint-write (finding a) (error in BASE)"));
  EXPECT_TRUE(compare({error}, {error}).better.empty() && compare({error}, {error}).worse.empty());
}

TEST(DifferenceTest, OfSeveralRunsTheGravestCounts) {
  Summary info = with_finding("info"), warning = with_finding("warning"), error = with_finding("error");
  EXPECT_FALSE(compare({warning, error, info}, {error}).regression());
  EXPECT_TRUE(compare({warning, info}, {info, error, warning}).regression());
  EXPECT_TRUE(compare({run()}, {info, warning}).regression()) << "a new one, too";
}

TEST(DifferenceTest, MoreCallsOrBytesAStepAreARegressionFewerAreNot) {
  EXPECT_TRUE(compare({run(10, 2)}, {run(10, 3)}).regression());
  Difference fewer = compare({run(10, 3)}, {run(10, 2)});
  EXPECT_FALSE(fewer.regression());
  ASSERT_THAT(fewer.issued, SizeIs(1));
  EXPECT_EQ(fewer.issued[0].base, 3u);
  EXPECT_EQ(fewer.issued[0].now, 2u);
}

// On a communicator of their own, say.
TEST(DifferenceTest, EachRanksCallsAreCompared) {
  auto with = [](std::vector<IssuedRow> rows) {
    Summary summary = run();
    summary.ranks_with_steps = {0, 1, 2, 3};
    summary.issued = std::move(rows);
    return summary;
  };
  Summary base = with({{"c", 1, 4, {0, 1, 2, 3}}}), now = with({{"c", 1, 4, {0, 1}}, {"c", 10, 4, {2, 3}}});
  Difference difference = compare({base}, {now});
  EXPECT_TRUE(difference.more_issued && difference.regression());
  ASSERT_THAT(difference.issued, SizeIs(1));
  EXPECT_THAT(difference.issued[0].ranks, ElementsAre(2, 3));
  EXPECT_THAT(to_text(difference), HasSubstr("1    10   c (4 bytes) by ranks 2 and 3\n"));
  EXPECT_FALSE(compare({now}, {base}).regression());
  Summary moved = with({{"c", 2, 4, {0}}, {"c", 1, 4, {2, 3}}});
  EXPECT_TRUE(compare({base}, {moved}).more_issued) << "though it is less in all: rank 0 takes longer";
}

TEST(DifferenceTest, RanksOfWhichStepsAreKnownOnOneSideOnlyAreTold) {
  Summary more = run();
  more.ranks_with_steps = {0, 1, 2, 3};
  more.issued[0].ranks = {0, 1, 2, 3};
  EXPECT_FALSE(compare({run()}, {more}).regression());
  EXPECT_THAT(to_text(compare({run()}, {more})),
              HasSubstr("not judged: what is issued by ranks 2 and 3: their steps are known in NEW only\n"));
  EXPECT_THAT(to_text(compare({more}, {run()})),
              HasSubstr("not judged: what is issued by ranks 2 and 3: their steps are known in BASE only\n"));
}

TEST(DifferenceTest, ACallInFewRunsOnlyIsNotWhatAStepIssues) {
  Runs now = runs({10, 10, 10});
  now[1].issued.push_back({"broadcast", 1, 64, {0, 1}});
  EXPECT_TRUE(compare(runs({10}), now).issued.empty());
}

// As of a job on MPI without a GPU.
TEST(DifferenceTest, WithoutStepsFindingsAloneAreComparedAndThatIsTold) {
  Summary none = run();
  none.steps = 0, none.ranks_with_steps.clear(), none.issued.clear(), none.durations.clear();
  auto told = [](const Summary& base, const Summary& now) { return to_text(compare({base}, {now})); };
  EXPECT_THAT(told(run(), none), HasSubstr("no steps are known of NEW ("));
  EXPECT_THAT(told(none, run()), HasSubstr("no steps are known of BASE ("));
  EXPECT_THAT(told(none, none),
              HasSubstr("how long they and transfers last: no steps are known of BASE and NEW ("));
  EXPECT_THAT(told(none, none), HasSubstr("findings alone are compared"));
  EXPECT_FALSE(compare({run()}, {none}).regression());
  Summary found = none;
  found.findings = {{"a", "missing-barrier", "error", "t"}};
  EXPECT_TRUE(compare({none}, {found}).regression());
}

// As of one on MPI that computes on a GPU.
TEST(DifferenceTest, WithoutCollectivesWhatStepsIssueIsNotJudged) {
  Summary none = run();
  none.issued.clear();
  EXPECT_THAT(to_text(compare({none}, {none})),
              HasSubstr("not judged: what steps issue: no collectives are known"));
  EXPECT_TRUE(compare({none}, {run()}).regression()) << "which it is where one side has some";
}

TEST(DifferenceTest, WhatIsNotJudgedAnyMoreIsTold) {
  Summary now = run();
  now.unjudged = {"straggler"};
  EXPECT_THAT(compare({run()}, {now}).not_compared,
              ::testing::Contains(HasSubstr("straggler: it was judged")));
  EXPECT_THAT(compare({now}, {now}).not_compared,
              ::testing::Not(::testing::Contains(HasSubstr("straggler"))));
}

TEST(DifferenceTest, WhatIsNotJudgedAnyMoreFailsWhereThatIsAskedFor) {
  Summary blind = run(), none = run(), fewer = run();
  blind.unjudged = {"straggler"};
  none.steps = 0, none.ranks_with_steps.clear(), none.issued.clear(), none.durations.clear();
  fewer.ranks_with_steps = {0}, fewer.issued[0].ranks = {0};
  for (const Summary& now : {blind, none, fewer}) {
    EXPECT_FALSE(compare({run()}, {now}).regression());
    Difference asked = compare({run()}, {now}, true);
    EXPECT_TRUE(asked.regression());
    EXPECT_THAT(to_text(asked), HasSubstr("  LESS is judged than before\nregression\n"));
    EXPECT_FALSE(compare({now}, {now}, true).regression());
    EXPECT_FALSE(compare({now}, {run()}, true).regression()) << "more is none";
  }
}

TEST(ChanceTest, IsThatOfAllWaysToDealTheRuns) {
  // 252 ways of 5 and 5; one is as far, or 252.
  EXPECT_NEAR(*chance_of({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 1.0 / 252, 1e-9);
  EXPECT_NEAR(*chance_of({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}), 1, 1e-9);
  EXPECT_NEAR(*chance_of({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}), 1, 1e-9);
}

// Of too many for all ways.
TEST(ChanceTest, OfManyRunsIsThatOfDrawnWays) {
  std::vector<double> low, two = {100, 101}, high;
  for (int i = 0; i < 19; ++i) low.push_back(i), high.push_back(200 + i);
  EXPECT_NEAR(*chance_of(low, two), 1.0 / 210, 0.002);
  EXPECT_NEAR(*chance_of(low, high), 1.0 / 10'000, 1e-9) << "what is there is one of the drawn";
  EXPECT_NEAR(*chance_of(high, low), 1, 1e-9);
  EXPECT_NEAR(*chance_of(std::vector(15, 1.0), std::vector(15, 1.0)), 1, 1e-9);
  EXPECT_EQ(*chance_of(low, two), *chance_of(low, two));
}

TEST(ChanceTest, OfDrawnWaysHoldsItsLevel) {
  SameJob job;
  int unlikely = 0, one_in_ten = 0;
  for (int pair = 0; pair < 500; ++pair) {
    double chance = *chance_of(job.runs(15), job.runs(15));
    unlikely += chance < kUnlikely, one_in_ten += chance < 0.1;
  }
  EXPECT_LE(unlikely, 12);  // 5 are expected, 50 of one in ten
  EXPECT_NEAR(one_in_ten, 50, 20);
}

TEST(ChanceTest, OfTooFewRunsThereIsNone) {
  EXPECT_FALSE(chance_of({1}, {100}));
  EXPECT_FALSE(chance_of({1, 2, 3, 4}, {5, 6, 7, 8}));
  EXPECT_FALSE(chance_of({}, {1}));
  EXPECT_FALSE(chance_of(std::vector(30, 1.0), {100})) << "one of 31 ways";
}

TEST(SlowerTest, AllRunsHaveToLieFarAbove) {
  EXPECT_TRUE(is_slower({10, 10.1, 10.2, 10.1, 10}, {12, 12.1, 12.2, 12, 12}));
  EXPECT_FALSE(is_slower({10, 10.1, 10.2, 10.1, 10}, {10.5, 10.5, 10.6, 10.5, 10.5}))
      << "by less than a tenth";
  EXPECT_FALSE(is_slower({10, 14, 11, 10, 12}, {16, 16, 17, 16, 16}))
      << "by less than they spread themselves";
  EXPECT_FALSE(is_slower({10, 10, 10, 10, 10}, {12, 12, 12, 12, 10})) << "one of them is as before";
  EXPECT_FALSE(is_slower({10}, {100})) << "one run says nothing";
}

// Whatever way they are dealt, none is slower.
TEST(SlowerTest, NoiseIsNot) {
  SameJob job;
  for (int pair = 0; pair < 2'000; ++pair) EXPECT_FALSE(is_slower(job.runs(5), job.runs(5)));
  for (int pair = 0; pair < 300; ++pair) EXPECT_FALSE(is_slower(job.runs(15), job.runs(15)));
}

// Why p95 is not judged: of some steps that stall, it is a matter of one more or less whether it is one of
// these, and then it is far away.
TEST(SlowerTest, TheSameTestOfP95SpeaksOnNoise) {
  std::mt19937 random(1);
  auto run_of_20 = [&] {
    std::vector<double> steps(20);
    for (double& ms : steps)
      ms = (10 + 0.2 * static_cast<double>(random() % 100) / 100) * (random() % 100 < 8 ? 5 : 1);
    return model::percentiles(steps);
  };
  int p50 = 0, p95 = 0;
  for (int pair = 0; pair < 20'000; ++pair) {
    std::vector<double> half[2], most[2];
    for (int side : {0, 1})
      for (int run = 0; run < 5; ++run) {
        auto of = run_of_20();
        half[side].push_back(of.p50), most[side].push_back(of.p95);
      }
    p50 += is_slower(half[0], half[1]), p95 += is_slower(most[0], most[1]);
  }
  EXPECT_EQ(p50, 0);
  EXPECT_GT(p95, 5);
}

TEST(SlowerTest, OfManyRunsToo) {
  std::vector<double> base, now;
  for (int i = 0; i < 15; ++i) base.push_back(10 + 0.1 * i), now.push_back(30 + 0.3 * i);
  Difference difference = compare(runs(base), runs(now));
  EXPECT_TRUE(difference.regression());
  EXPECT_TRUE(difference.not_compared.empty());
  EXPECT_FALSE(compare(runs(base), runs(base)).regression());
  EXPECT_FALSE(compare(runs(now), runs(base)).regression());
}

TEST(SummaryFile, IsReadAsItWasWritten) {
  Summary made = run();
  made.findings = {{"a", "straggler", "warning", "\"\x1b"}};
  made.unjudged = {"rank-divergence"};
  auto read = parse(to_json(made));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read), to_json(made));
}

TEST(SummaryFile, RanksAreListedByRuns) {
  Summary made = run();
  made.ranks_with_steps.resize(512);
  std::iota(made.ranks_with_steps.begin(), made.ranks_with_steps.end(), 0);
  made.issued[0].ranks = {0, 1, 2, 7, 9, 10};
  std::string text = to_json(made);
  EXPECT_THAT(text, HasSubstr("\"ranks_with_steps\": \"0-511\""));
  EXPECT_THAT(text, HasSubstr("\"ranks\": \"0-2,7,9-10\""));
  auto read = parse(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->ranks_with_steps, made.ranks_with_steps);
  EXPECT_EQ(read->issued[0].ranks, made.issued[0].ranks);
  for (const char* wrong : {"0-", "-1", "1-0", "0,", "0-2147483647", "99999999999", "a", "0-1-2", "0 1"}) {
    std::string with = text;
    with.replace(with.find("0-2,7,9-10"), 10, wrong);
    EXPECT_FALSE(parse(with)) << wrong;
  }
}

// Of the lowest rank alone.
TEST(SummaryFile, OfAnOlderVersionIsRefused) {
  auto older =
      parse(R"({"schema": 1, "kind": "summary", "ddpscope": {"version": "0.1.0"}, "job": {"ranks": 2},
      "steps": 7, "findings": [], "unjudged": [], "durations": [],
      "issued": [{"call": "all-reduce", "per_step": 1, "bytes": 4}]})");
  ASSERT_FALSE(older);
  EXPECT_THAT(older.error().what, HasSubstr("of an older version"));
  EXPECT_THAT(older.error().hint, HasSubstr("make it again"));
}

TEST(SummaryFile, WhatIsNoneIsRefused) {
  std::string whole = to_json(run());
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{\"schema\": 2}"),
                                  whole.substr(0, whole.size() / 2), std::string("{\"schema\": 1}")})
    EXPECT_FALSE(parse(text)) << text;
  std::string wrong = whole;
  wrong.replace(wrong.find("\"per_step\": 2"), 13, "\"per_step\":\"\"");
  EXPECT_FALSE(parse(wrong));
}

}  // namespace
}  // namespace ddpscope::summary
