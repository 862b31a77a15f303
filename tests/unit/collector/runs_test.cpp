// What several `ddpscope run`s leave in one folder: one job, attempts of one, or two jobs.
#include <gtest/gtest.h>

#include "tests/unit/collector/recorded.h"

namespace ddpscope::reading {
namespace {

using tests::Recorded;

std::vector<std::int32_t> pids(const Reading& reading) {
  std::vector<std::int32_t> found;
  for (const model::Process& process : reading.job.processes) found.push_back(process.header().pid);
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Runs, OneARankAtTheSameTimeAreOneAttempt) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2 SLURM_JOB_ID=7 DDPSCOPE_RUN=x until=5
process b pid=11 rank=1 world=2 SLURM_JOB_ID=7 DDPSCOPE_RUN=y start=1 until=5
a 0.1 +0.1 connect inode=1
b 1.1 +0.1 connect inode=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{10, 11}));
  EXPECT_EQ(reading->job.other_attempts, 0);
}

TEST(Runs, OneARankOneAfterTheOtherAreOneAttempt) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2 SLURM_JOB_ID=7 DDPSCOPE_RUN=x until=1
process b pid=11 rank=1 world=2 SLURM_JOB_ID=7 DDPSCOPE_RUN=y start=2 until=5
a 0.1 +0.1 connect inode=1
b 2.1 +0.1 connect inode=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{10, 11}));
}

TEST(Runs, TheSameRankAgainLaterIsAFurtherAttempt) {
  Recorded trace(R"(
process a pid=10 rank=0 world=1 SLURM_JOB_ID=7 DDPSCOPE_RUN=x TORCHELASTIC_RESTART_COUNT=2 until=1
process b pid=11 rank=0 world=1 SLURM_JOB_ID=7 DDPSCOPE_RUN=y start=2 TORCHELASTIC_RESTART_COUNT=0 until=3
process c pid=12 rank=0 world=1 SLURM_JOB_ID=7 DDPSCOPE_RUN=y start=3 TORCHELASTIC_RESTART_COUNT=1 until=4
a 0.1 +0.1 connect inode=1
b 2.1 +0.1 connect inode=2
c 3.1 +0.1 connect inode=3
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(pids(*reading), std::vector<std::int32_t>{12});
  EXPECT_EQ(reading->job.attempt, 4) << "0 to 2 are the first run's";
  EXPECT_EQ(reading->job.other_attempts, 2);
}

TEST(Runs, TheWorldIsThatOfTheAttempt) {
  Recorded trace(R"(
for r in 0..3 {
  process a$r pid=${10+r} rank=$r world=4 SLURM_JOB_ID=7 DDPSCOPE_RUN=x until=1
  a$r 0.1 +0.1 connect inode=1
}
for r in 0..1 {
  process b$r pid=${20+r} rank=$r world=2 SLURM_JOB_ID=7 DDPSCOPE_RUN=y start=2 until=3
  b$r 2.1 +0.1 connect inode=2
}
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{20, 21}));
  EXPECT_EQ(reading->job.world_size, 2);
}

TEST(Runs, ThoseThatShareNothingAreTwoJobs) {
  Recorded trace(R"(
process a host=n1 pid=10 DDPSCOPE_RUN=x until=1
process b host=n2 pid=11 DDPSCOPE_RUN=y start=2 until=3
a 0.1 +0.1 open path=x flags=wronly|creat file=1
b 2.1 +0.1 open path=x flags=wronly|creat file=1
)");
  auto reading = trace.read();
  ASSERT_FALSE(reading.ok());
  EXPECT_NE(reading.error().what.find("2 jobs that share nothing"), std::string::npos);
}

// Two ranks, a run each, on a port that is another one the second time.
std::string run_twice(const std::string& second_run, const std::string& second_command) {
  return R"(
for r in 0..1 {
  process a$r pid=${10+r} rank=$r world=2 MASTER_ADDR=h MASTER_PORT=1 DDPSCOPE_RUN=x$r DDPSCOPE_COMMAND=c$r
  process b$r pid=${20+r} rank=$r world=2 MASTER_ADDR=h MASTER_PORT=2 DDPSCOPE_RUN=y$r DDPSCOPE_COMMAND=)" +
         second_command + " start=" + second_run + R"(
  a$r 0.1 +0.1 connect inode=1
  a$r 2.0 +0 exit status=1
  b$r 4.1 +0.1 connect inode=2
}
)";
}

TEST(Runs, TheSameCommandAgainIsAFurtherAttemptWhateverItsPort) {
  Recorded trace(run_twice("3", "c$r"));
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{20, 21}));
  EXPECT_EQ(reading->job.attempt, 1);
  EXPECT_EQ(reading->job.other_attempts, 1);
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
}

TEST(Runs, TheSameCommandAtTheSameTimeIsAnotherJob) {
  EXPECT_FALSE(Recorded(run_twice("1.9", "c$r")).read().ok());
}

TEST(Runs, AnotherCommandLaterIsAnotherJob) { EXPECT_FALSE(Recorded(run_twice("3", "d$r")).read().ok()); }

// As after a kill -9 of all of it, `run` too.
std::string without_ends(std::string text) {
  return text.erase(text.find("  a$r 2.0 +0 exit"), sizeof("  a$r 2.0 +0 exit status=1"));
}

TEST(Runs, TheSameCommandAfterARunWhoseEndNobodySawIsAFurtherAttempt) {
  Recorded trace(without_ends(run_twice("3", "c$r")));
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{20, 21}));
}

TEST(Runs, TheSameCommandWhileTheFirstStillRecordsIsAnotherJob) {
  EXPECT_FALSE(Recorded(without_ends(run_twice("3", "c$r")) + "a0 3.5 +0.1 connect inode=1\n").read().ok());
}

// Two jobs of one run, a shell above them.
std::string loop(const std::string& first_ends, const std::string& second_starts) {
  return R"(
process shell pid=9 DDPSCOPE_RUN=x
process a pid=10 parent=shell rank=0 world=1 MASTER_ADDR=h MASTER_PORT=1 DDPSCOPE_RUN=x
process b pid=11 parent=shell rank=0 world=1 MASTER_ADDR=h MASTER_PORT=2 DDPSCOPE_RUN=x start=)" +
         second_starts + R"(
shell 0.05 +0.01 open path=x flags=wronly|creat file=1
a 0.1 +0.1 connect inode=1
)" + first_ends +
         R"(
b 4.1 +0.1 connect inode=2
shell 5.0 +0.01 open path=x flags=wronly|creat file=1
)";
}

TEST(Runs, WhatALoopInOneRunStartsOneAfterTheOtherAreAttempts) {
  Recorded trace(loop("a 2.0 +0 exit status=1", "3"));
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.attempt, 1);
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{0});
}

TEST(Runs, WhatOneRunStartsAtTheSameTimeAreTwoJobs) {
  EXPECT_FALSE(Recorded(loop("a 3.5 +0 exit status=1", "3")).read().ok());
}

TEST(Runs, WhatOneRunStartedAndNobodySawEndMayStillRun) { EXPECT_FALSE(Recorded(loop("", "3")).read().ok()); }

TEST(Runs, WithoutANumberRanksAreCountedInEachAttempt) {
  Recorded trace(R"(
process a pid=10 parent_pid=1 DDPSCOPE_RUN=x DDPSCOPE_COMMAND=c
process b pid=11 parent_pid=1 DDPSCOPE_RUN=x DDPSCOPE_COMMAND=c start=0.01
process c pid=12 parent_pid=2 DDPSCOPE_RUN=y DDPSCOPE_COMMAND=c start=3
process d pid=13 parent_pid=2 DDPSCOPE_RUN=y DDPSCOPE_COMMAND=c start=3.01
a 0.1 +0.1 connect inode=1
b 0.1 +0.1 connect inode=2
a,b 2.0 +0 exit
c 3.1 +0.1 connect inode=3
d 3.1 +0.1 connect inode=4
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{12, 13}));
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
}

TEST(Runs, WhatOneStartedBelongsTogetherWithoutANameAndApartWithTwo) {
  Recorded unnamed(R"(
process a pid=10 DDPSCOPE_RUN=x
process b pid=11 DDPSCOPE_RUN=x rank=0 world=1 MASTER_ADDR=h MASTER_PORT=1
a 0.1 +0.1 open path=x flags=wronly|creat file=1
b 0.1 +0.1 connect inode=2
)");
  auto reading = unnamed.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(pids(*reading), (std::vector<std::int32_t>{10, 11}));
  Recorded named(R"(
process a pid=10 DDPSCOPE_RUN=x rank=0 world=1 MASTER_ADDR=h MASTER_PORT=2
process b pid=11 DDPSCOPE_RUN=x rank=0 world=1 MASTER_ADDR=h MASTER_PORT=1
a 0.1 +0.1 connect inode=1
b 0.1 +0.1 connect inode=2
)");
  EXPECT_FALSE(named.read().ok());
}

}  // namespace
}  // namespace ddpscope::reading
