// Which workers a rank that never came may wait for.
#include "collector/detectors/whereabouts.h"

#include <gmock/gmock.h>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::detectors {
namespace {

using ::testing::HasSubstr;

findings::Finding evidence_of_workers_at(const std::string& workers, double at_s) {
  auto reading = tests::Recorded(R"(
process r pid=100 rank=0 until=40
process other pid=101 rank=1 until=40
process w0 pid=200 parent=r rank=0 until=40
process w1 pid=201 parent=r rank=0 until=40
r 1 inside recv inode=7 fd=9 stack="train.py:60 main"
)" + workers)
                     .read();
  EXPECT_TRUE(reading.ok()) << reading.error().what;
  alignment::align(reading->job);
  findings::Finding finding;
  auto rank = static_cast<std::uint32_t>(reading->job.process_of_rank(0));
  add_evidence_of_workers(reading->job, rank, 0, static_cast<std::int64_t>(at_s * 1e9), finding);
  return finding;
}

TEST(EvidenceOfWorkers, TheOneThatIsAtALineOfItsOwn) {
  findings::Finding finding = evidence_of_workers_at(R"(
w0 0.9 inside open path="/data/b.bin" stack="dataset.py:20 __getitem__ < train.py:60 main"
w1 0.9 inside recv inode=8 fd=9 stack="train.py:60 main"
)",
                                                     10);
  ASSERT_EQ(finding.evidence.size(), 1u) << "the idle one is where its parent made it";
  EXPECT_THAT(finding.evidence[0].detail,
              HasSubstr("its worker 200 has been inside open of /data/b.bin since 0.9"));
  EXPECT_EQ(finding.evidence[0].rank, 0);
  EXPECT_THAT(finding.evidence[0].stack.front(), HasSubstr("dataset.py:20"));
}

TEST(EvidenceOfWorkers, NoneThatCameBackOrHasJustBegun) {
  EXPECT_TRUE(evidence_of_workers_at(R"(
w0 0.9 +3 open path="/data/b.bin" stack="dataset.py:20 __getitem__ < train.py:60 main"
w1 9.5 inside open path="/data/c.bin" stack="dataset.py:20 __getitem__ < train.py:60 main"
)",
                                     10)
                  .evidence.empty());
}

TEST(EvidenceOfWorkers, WhatItWasInsideOfAtThatMoment) {
  EXPECT_EQ(evidence_of_workers_at(R"(
w0 0.9 +3 open path="/data/b.bin" stack="dataset.py:20 __getitem__ < train.py:60 main"
)",
                                   3)
                .evidence.size(),
            1u);
}

}  // namespace
}  // namespace ddpscope::detectors
