// The times of evidence: what a card says, where its disc stands, and what is in view of them.
#include <fmt/format.h>

#include <algorithm>

#include "collector/reports/phrases.h"
#include "tests/gui/app_fixture.h"
#include "viewer/story/absence.h"
#include "viewer/story/cards.h"

namespace ddpscope::viewer {
namespace {

using EvidenceTimesTest = AppTest;

// Four ranks reduce the gradients of both micro-batches. Devices are behind their hosts: the last rank's
// begins first, that of rank 0 is done first.
std::string late_devices() {
  std::string text =
      "for r in 0..3 {\n"
      "  process r$r rank=$r world=4 until=9\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r\n}\n";
  for (int step = 0; step < 6; ++step)
    for (int rank = 0; rank < 4; ++rank) {
      double start = 1 + 0.1 * step;
      for (int part = 0; part < 2; ++part) {
        double host = start + 0.004 * part, device = start + 0.02 + 0.03 * part;
        text += fmt::format(
            "r{0} {1:.4f} +0.0001 cudaMemcpyAsync kind=h2d bytes=64K stream=0x5\n"
            "r{0} {2:.4f} +0.0001 cudaLaunchKernel name=\"backward\" stream=0x5 count=10\n"
            "r{0} {3:.4f} +0.0001 ncclAllReduce communicator=1 count=250000 datatype=f32 reduction=avg "
            "stream=0x7 buffer=0x200 stack=\"ddp.py:5 reduce\"\n"
            "r{0}/2 {4:.4f} +{5:.4f} gpu kind=collective communicator=1 sequence={6} thread=1 "
            "called={3:.4f}\n",
            rank, host, host + 0.001, host + 0.002, device + 0.002 * (3 - rank), 0.010 + 0.003 * rank,
            2 * step + part);
      }
      text += fmt::format(
          "r{0} {1:.4f} +0.0001 cudaLaunchKernel name=\"adamw_kernel\" stream=0x5\n"
          "r{0} {2:.4f} +0.0050 cudaStreamSynchronize stream=0x5\n",
          rank, start + 0.010, start + 0.09);
    }
  return text;
}

TEST_F(EvidenceTimesTest, ACardTellsTheDeviceTimeOfItsOwnRank) {
  open(late_devices());
  settle();
  const findings::Finding& finding = app_->reader().outcome().findings.at(0);
  ASSERT_EQ(finding.slug, "redundant-accumulation-sync");
  const Story& story = app_->story();
  ASSERT_EQ(story.discs.size(), 3u);
  ASSERT_EQ(story.syncs.size(), 2u);
  std::int64_t step = finding.evidence[0].t_ns / 100'000'000 * 100'000'000;
  for (const StoryDisc& disc : story.discs) ASSERT_EQ(finding.evidence[disc.number - 1].rank, 0);
  EXPECT_EQ(story.syncs[0].from_ns, step + 20'000'000) << "rank 3's";
  EXPECT_EQ(story.discs[0].device_ns, step + 26'000'000);
  EXPECT_EQ(story.discs[1].device_ns, step + 56'000'000);
  EXPECT_TRUE(story.discs[2].waits);
  EXPECT_EQ(story.discs[2].device_ns, step + 66'000'000);
  EXPECT_GT(story.syncs[1].to_ns, step + 66'000'000) << "of the others";
  for (const StoryDisc& disc : story.discs) EXPECT_EQ(disc.drawn_ns(), disc.device_ns) << disc.number;
}

findings::Finding of_rank_1() {
  findings::Finding finding;
  finding.ranks = {1};
  finding.first_ns = 18'600'000, finding.last_ns = 10'000'000'000;
  finding.evidence.resize(2);
  finding.evidence[0].rank = 0, finding.evidence[0].t_ns = 18'600'000;
  finding.evidence[1].rank = 1, finding.evidence[1].t_ns = 16'650'000;
  return finding;
}

TEST(FaultTimeTest, BesideARankItsOwnTimeIsTold) {
  findings::Finding finding = of_rank_1();
  EXPECT_EQ(fault_ns(finding, 4), 16'650'000);
  finding.evidence[1].t_ns = 20'000'000;
  EXPECT_EQ(fault_ns(finding, 4), 20'000'000);
  finding.evidence[1].detail = "the last call in which the ranks agree";
  EXPECT_EQ(fault_ns(finding, 4), finding.first_ns);
}

TEST(FaultTimeTest, ElseWhenItBegins) {
  findings::Finding finding = of_rank_1();
  finding.count = 3;
  EXPECT_EQ(fault_ns(finding, 4), finding.first_ns) << "the evidence is of one of them";
  finding.count = 1;
  finding.evidence[0].t_ns = finding.evidence[1].t_ns = finding.last_ns;
  EXPECT_EQ(fault_ns(finding, 4), finding.first_ns) << "where they were when all was over";
  finding.evidence[0].t_ns = finding.first_ns;
  finding.ranks = {0, 1};
  EXPECT_EQ(fault_ns(finding, 2), finding.first_ns) << "of all none stands out";
  finding.evidence.clear();
  EXPECT_EQ(fault_ns(finding, 4), finding.first_ns);
}

// The drawer says of a hang what reports say.
TEST_F(EvidenceTimesTest, WhatAHangCostsIsToldInTheReportsWords) {
  App& app = open(tests::golden("skipped-barrier/speaks-early-return", 3));
  settle();
  const findings::Finding& finding = app.reader().outcome().findings.at(0);
  EXPECT_EQ(cost_text(finding), "hang");
  std::string cost = cost_sentence(finding);
  EXPECT_TRUE(cost.starts_with("the job goes no further: ")) << cost;
  EXPECT_EQ(cost, reports::cost_text(finding));
}

// Of a job that still runs: what is known of it was seen at the end, long after the ranks had begun to wait.
TEST(AbsenceTest, OfRanksThatWaitOverTcpTheStallIsInView) {
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.key = "over TCP train.py:40 step";
  finding.title = "ranks 0, 1 and 2 wait over TCP for rank 3, for 20.000 s; it is inside clock_nanosleep";
  finding.ranks = {3};
  finding.first_ns = 3'000'000'000, finding.last_ns = 23'000'000'000;
  finding.evidence.resize(2);
  finding.evidence[0].rank = 0, finding.evidence[0].t_ns = 22'900'000'000;
  finding.evidence[1].rank = 3, finding.evidence[1].t_ns = 23'100'000'000;
  auto absence = absence_of(finding);
  ASSERT_TRUE(absence);
  EXPECT_EQ(absence->span, (TimeSpan{finding.first_ns, finding.last_ns}));
  for (std::int64_t t_ns :
       {finding.first_ns, finding.last_ns, finding.evidence[0].t_ns, finding.evidence[1].t_ns})
    EXPECT_TRUE(t_ns >= absence->focus.from_ns && t_ns <= absence->focus.to_ns) << t_ns;
  EXPECT_TRUE(absence->words.starts_with("ranks 0, 1 and 2 wait over TCP for rank 3, for "))
      << absence->words;
  finding.key = "train.py:40 step";
  EXPECT_FALSE(absence_of(finding)) << "a collective has a row of its own";
}

TEST_F(EvidenceTimesTest, OfStepsOnAProcessGroupTheLastOneIsInView) {
  App& app = open(tests::golden("uneven-steps/speaks-passes-barrier", 2));
  settle();
  EXPECT_TRUE(app.state().shown.contains(app.reader().outcome().findings.at(0).first_ns));
}

TEST(CostTest, OfAStepTimeAndBytesAreTold) {
  findings::Finding finding;
  EXPECT_EQ(cost_sentence(finding), "");
  finding.cost = {12.5, 4000};
  EXPECT_EQ(cost_sentence(finding), "12.5 ms a step and 4.00 kB a step");
}

}  // namespace
}  // namespace ddpscope::viewer
