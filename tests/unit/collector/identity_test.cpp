// Roles, ranks, attempts and jobs, from traces as text.
#include <gtest/gtest.h>

#include "tests/unit/collector/recorded.h"

namespace ddpscope::reading {
namespace {

using model::Process;
using model::Role;
using tests::Recorded;

const Process& by_pid(const Reading& reading, std::int32_t pid) {
  for (const Process& process : reading.job.processes)
    if (process.header().pid == pid) return process;
  ADD_FAILURE() << "no process " << pid;
  return reading.job.processes.front();
}

TEST(Identity, TheCommunicatorOutranksTheEnvironment) {
  Recorded trace(R"(
process a pid=10 rank=5 world=2
process b pid=11 rank=6 world=2
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 10).rank, 0);
  EXPECT_EQ(by_pid(*reading, 11).rank, 1);
  EXPECT_STREQ(by_pid(*reading, 11).rank_source, "communicator");
}

TEST(Identity, LoaderWorkersInheritTheirRank) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2
process b pid=11 rank=1 world=2
process w pid=12 parent=b rank=1 world=2
process v pid=13 parent=w
a 0.1 +0.1 connect inode=1
b 0.1 +0.1 connect inode=2
w 0.2 +0.1 open path=sample file=1
v 0.3 +0.1 open path=sample file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 11).role, Role::kRank);
  EXPECT_EQ(by_pid(*reading, 12).role, Role::kWorker);
  EXPECT_EQ(by_pid(*reading, 12).rank, 1);
  EXPECT_EQ(by_pid(*reading, 13).role, Role::kWorker);
  EXPECT_EQ(by_pid(*reading, 13).rank, 1);
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
}

// Without communicators and variables: only what runs together and talks, or uses a device, are ranks.
TEST(Identity, ProgramsOfAScriptAreNoRanks) {
  Recorded trace(R"(
process a pid=10
process b pid=11 start=2
process c pid=12
a 0.1 +0.1 cudaSetDevice device=0
a 1.0 +0.1 exit status=0
b 2.1 +0.1 cudaSetDevice device=0
b 3.0 +0.1 exit status=0
c 0.1 +0.1 open path=out flags=wronly|creat file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(by_pid(*reading, 10).rank, 0);
}

TEST(Identity, ProcessesThatRunTogetherOnDevicesAreRanks) {
  Recorded trace(R"(
process a pid=10
process b pid=11 start=0.5
a 0.1 +0.1 cudaSetDevice device=0
b 0.6 +0.1 cudaSetDevice device=1
a 3.0 +0.1 exit status=0
b 3.0 +0.1 exit status=0
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(by_pid(*reading, 11).rank, 1);
}

TEST(Identity, WhatAShellOfARankStartedWorksForIt) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2
process b pid=11 rank=1 world=2
process c pid=30 rank=1 world=2 start=1
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
c 1.2 +0.1 open path=copy flags=wronly|creat file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 11).role, Role::kRank);
  EXPECT_EQ(by_pid(*reading, 30).role, Role::kWorker);
  EXPECT_EQ(by_pid(*reading, 30).rank, 1);
}

TEST(Identity, AWorkerWhoseRankIsMissingIsNoRank) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2
process w pid=12 rank=1 world=2 start=1
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
w 1.2 +0.1 open path=sample file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 12).role, Role::kWorker);
  EXPECT_EQ(by_pid(*reading, 12).rank, 1);
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{0});
}

TEST(Identity, AWrapperScriptIsNotTheRank) {
  Recorded trace(R"(
process shell pid=9 rank=0 world=1
process python pid=10 parent=shell rank=0 world=1
shell 0.1 +0.1 open path=log flags=wronly|creat file=1
python 0.2 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 10).role, Role::kRank);
  EXPECT_EQ(by_pid(*reading, 9).role, Role::kLauncher);
}

// By exec: pid and start are the same.
TEST(Identity, AWrapperThatBecomesTheRankWorksForIt) {
  Recorded trace(R"(
process python pid=10 opened=2 rank=0 world=1
process shell pid=10 opened=0.1 rank=0 world=1
process touch pid=11 start=1 parent=shell rank=0 world=1
shell 0.1 +0.1 open path=log flags=wronly|creat file=1
touch 1.1 +0.1 open path=done flags=wronly|creat file=1
python 2.2 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  for (const Process& process : reading->job.processes) {
    bool joined = !process.memberships.empty();
    EXPECT_EQ(process.role, joined ? Role::kRank : Role::kWorker);
    EXPECT_EQ(process.rank, 0);
  }
}

// `ddpscope run` saw that its maker left a trace; that made no other rank.
TEST(Identity, AWorkerWhoseMakerIsMissingIsNoRank) {
  Recorded trace(R"(
process run pid=1
process a pid=11 rank=1 world=2 MASTER_ADDR=h MASTER_PORT=1
process w pid=12 parent_pid=10 start=1 rank=0 world=2 MASTER_ADDR=h MASTER_PORT=1
run 0 +9 job_watched
run 8 +0 process_ended pid=10 start_time=100000
a 0.1 +0.1 connect inode=1
w 1.2 +0.1 open path=sample flags=wronly|creat file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 12).role, Role::kWorker);
  EXPECT_EQ(reading->job.ranks(), std::vector<std::int32_t>{1});
}

TEST(Identity, TheLastAttemptIsAnalysed) {
  Recorded trace(R"(
process a pid=10 rank=0 world=1 TORCHELASTIC_RUN_ID=job TORCHELASTIC_RESTART_COUNT=0
process b pid=11 rank=0 world=1 TORCHELASTIC_RUN_ID=job TORCHELASTIC_RESTART_COUNT=1
a 0.1 +0.1 connect inode=1
b 0.2 +0.1 connect inode=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->job.processes.size(), 1u);
  EXPECT_EQ(reading->job.processes[0].header().pid, 11);
  EXPECT_EQ(reading->job.attempt, 1);
  EXPECT_EQ(reading->job.other_attempts, 1);
}

TEST(Identity, TwoJobsThatShareNothingAreRefused) {
  Recorded trace(R"(
process a pid=10 rank=0 world=1 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500
process b pid=11 rank=0 world=1 MASTER_ADDR=10.0.0.2 MASTER_PORT=29500
a 0.1 +0.1 connect inode=1
b 0.2 +0.1 connect inode=2
)");
  auto reading = trace.read();
  ASSERT_FALSE(reading.ok());
  EXPECT_NE(reading.error().what.find("2 jobs that share nothing"), std::string::npos);
}

// mpirun's ranks that split into halves before any communicator is made (NCCL_TESTS_SPLIT). Without the name
// of their launch they are two jobs.
TEST(Identity, RanksOfOneMpirunAreOneJobThoughTheirCommunicatorsAreDisjoint) {
  const std::string communicators = R"(
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
c 0.1 +0.1 ncclCommInitRank communicator=1 id=0xdef rank=0 size=2
d 0.1 +0.1 ncclCommInitRank communicator=1 id=0xdef rank=1 size=2
)";
  auto ranks_of = [](const std::string& launch) {
    std::string text;
    for (int rank = 0; rank < 4; ++rank)
      text += "process " + std::string(1, static_cast<char>('a' + rank)) + " pid=1" + std::to_string(rank) +
              " OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + " OMPI_COMM_WORLD_SIZE=4 " + launch + "\n";
    return text;
  };
  Recorded one(ranks_of("PMIX_NAMESPACE=1283981313") + communicators);
  auto reading = one.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.world_size, 4);
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(by_pid(*reading, 13).rank, 3);
  EXPECT_FALSE(Recorded(ranks_of("") + communicators).read().ok());
}

// What SIGKILL leaves of a loader worker that was just starting.
TEST(Identity, AProcessThatDiedBeforeItSaidWhatItIsBelongsToItsParent) {
  Recorded trace(R"(
process a pid=10 rank=0 world=1 DDPSCOPE_RUN=x MASTER_ADDR=h MASTER_PORT=1 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=1
process w pid=11 parent=a DDPSCOPE_RUN=x MASTER_ADDR=h
process v pid=12 parent=w TORCHELASTIC_RUN_ID=none
process lone pid=13 MASTER_ADDR=h DDPSCOPE_RUN=x
a 0.1 +0.1 connect inode=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.processes.size(), 4u);
  EXPECT_EQ(by_pid(*reading, 11).attempt, 1);
  EXPECT_EQ(by_pid(*reading, 11).rank, 0);
  EXPECT_EQ(by_pid(*reading, 12).rank, 0);
}

TEST(Identity, ACommunicatorJoinsWhatTheEnvironmentDoesNot) {
  Recorded trace(R"(
process a pid=10 rank=0 world=2
process b pid=11 rank=1 world=2
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
)");
  EXPECT_TRUE(trace.read().ok());
}

// mp.spawn on each of two hosts: no variable says anything, the ranks tell the store and talk to each other.
TEST(Identity, SpawnedRanksOfTwoHostsAreOneJobAsTheyTellTheStore) {
  Recorded trace(R"(
host a
host b
process a0 host=a pid=10 start=9 DDPSCOPE_RUN=one until=20
process b0 host=b pid=10 start=1 DDPSCOPE_RUN=two until=20
a0 9.1 +0.1 accept inode=1 local="10.0.0.1:29500" peer="10.0.0.2:4000" fd=3
b0 9.1 +0.1 connect inode=2 local="10.0.0.2:4000" peer="10.0.0.1:29500" fd=3
a0 9.3 +0.1 store_key inode=1 key="/default_pg/0/0/rank_0" operation=set
b0 9.3 +0.1 store_key inode=2 key="/default_pg/0/0/rank_1" operation=set
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(reading->job.world_size, 2);
  for (const Process& process : reading->job.processes) {
    EXPECT_EQ(process.rank, process.file.host() == "a" ? 0 : 1) << "not by start: host b is up for longer";
    EXPECT_STREQ(process.rank_source, "store");
  }
}

// Lightning's own launcher: the program starts the other ranks, and is rank 0 itself.
TEST(Identity, WhoStartsTheOthersMayBeARankAsItsProcessGroupSays) {
  Recorded trace(R"(
process main pid=10 until=20
process other pid=11 parent=main LOCAL_RANK=1 WORLD_SIZE=2 NODE_RANK=0 until=20
process worker pid=12 parent=main until=20
main 1 +0.1 fork pid=11
main 9.1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
other 9.1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
main 10 +0.1 fork pid=12
worker 11 +0.1 open path="/data/a" flags=rdonly file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(by_pid(*reading, 10).rank, 0);
  EXPECT_STREQ(by_pid(*reading, 10).rank_source, "process group");
  EXPECT_EQ(by_pid(*reading, 11).rank, 1);
  EXPECT_EQ(by_pid(*reading, 12).role, Role::kWorker);
  EXPECT_EQ(by_pid(*reading, 12).rank, 0);
}

// A second node of two ranks: what it calls its local rank is not the rank.
TEST(Identity, AProcessGroupKnowsBetterThanANumberWithinTheHost) {
  Recorded trace(R"(
host a
host b
process a0 host=a pid=10 LOCAL_RANK=0 until=20
process b0 host=b pid=10 LOCAL_RANK=0 until=20
a0 9.1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
b0 9.1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
a0 9.2 +0.1 accept inode=1 local="10.0.0.1:29500" peer="10.0.0.2:4000" fd=3
b0 9.2 +0.1 connect inode=2 local="10.0.0.2:4000" peer="10.0.0.1:29500" fd=3
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.ranks(), (std::vector<std::int32_t>{0, 1}));
}

// mp.spawn, once for each trial.
TEST(Identity, RanksThatAProgramStartsAgainAreAFurtherAttempt) {
  Recorded trace(R"(
process main pid=10 until=40
process a0 pid=11 parent=main until=9
process a1 pid=12 parent=main until=10
process b0 pid=13 parent=main start=11 until=19
process b1 pid=14 parent=main start=11 until=20
process worker pid=15 parent=b1 start=13 until=19
main 0.5 +0.1 fork pid=11
main 0.6 +0.1 fork pid=12
main 11 +0.1 fork pid=13
main 11.1 +0.1 fork pid=14
a0 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
a1 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
b0 12 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
b1 12 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
b1 13 +0.1 fork pid=15
worker 14 +0.1 open path="/data/a" flags=rdonly file=1
a0 9 +0.1 exit status=0
a1 10 +0.1 exit status=0
)");
  auto last = trace.read();
  ASSERT_TRUE(last.ok()) << last.error().what;
  EXPECT_EQ(last->job.attempt, 1);
  EXPECT_EQ(last->job.other_attempts, 1);
  EXPECT_EQ(last->job.ranks(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(by_pid(*last, 13).role, Role::kRank);
  EXPECT_EQ(by_pid(*last, 14).rank, 1);
  EXPECT_EQ(by_pid(*last, 15).role, Role::kWorker);
  auto first = trace.read(0);
  ASSERT_TRUE(first.ok()) << first.error().what;
  EXPECT_EQ(by_pid(*first, 11).role, Role::kRank);
  EXPECT_EQ(by_pid(*first, 12).role, Role::kRank);
}

// A further `ddpscope run` into the folder is one, and counts once.
TEST(Identity, RanksOfAFurtherRunAreOneAttempt) {
  Recorded trace(R"(
process a0 pid=11 rank=0 world=2 DDPSCOPE_RUN=one until=9
process a1 pid=12 rank=1 world=2 DDPSCOPE_RUN=one until=10
process b0 pid=13 rank=0 world=2 DDPSCOPE_RUN=two start=11 until=19
process b1 pid=14 rank=1 world=2 DDPSCOPE_RUN=two start=11 until=20
a0 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
a1 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
b0 12 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
b1 12 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
a0 9 +0.1 exit status=0
a1 10 +0.1 exit status=0
)");
  auto last = trace.read();
  ASSERT_TRUE(last.ok()) << last.error().what;
  EXPECT_EQ(last->job.attempt, 1);
  EXPECT_EQ(last->job.other_attempts, 1);
}

// Two trials that run side by side on one machine are none.
TEST(Identity, RanksThatRunBesideOthersOfTheirNumberAreNoFurtherAttempt) {
  Recorded trace(R"(
process main pid=10 until=40
process a0 pid=11 parent=main until=20
process a1 pid=12 parent=main until=20
process b0 pid=13 parent=main start=5 until=19
process b1 pid=14 parent=main start=5 until=19
a0 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
a1 1 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
b0 6 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=0 size=2
b1 6 +0.1 c10d_group communicator=1 id=0xabc name="default_pg/0" backend="gloo" rank=1 size=2
a0 20 +0.1 exit status=0
a1 20 +0.1 exit status=0
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading->job.attempt, 0);
  EXPECT_EQ(reading->job.other_attempts, 0);
}

TEST(Identity, ConnectionsDoNotJoinJobsThatHaveNames) {
  Recorded trace(R"(
process a pid=10 RANK=0 MASTER_ADDR=x MASTER_PORT=1
process b pid=11 RANK=0 MASTER_ADDR=x MASTER_PORT=2
process server pid=12
a 0.1 +0.1 connect inode=1 local="10.0.0.1:4000" peer="10.0.0.9:80" fd=3
b 0.1 +0.1 connect inode=2 local="10.0.0.2:4000" peer="10.0.0.9:80" fd=3
server 0.1 +0.1 accept inode=3 local="10.0.0.9:80" peer="10.0.0.1:4000" fd=3
server 0.1 +0.1 accept inode=4 local="10.0.0.9:80" peer="10.0.0.2:4000" fd=4
)");
  auto reading = trace.read();
  ASSERT_FALSE(reading.ok());
  EXPECT_NE(reading.error().what.find("2 jobs that share nothing"), std::string::npos);
}

TEST(Identity, WithoutAnyNameRanksAreNumberedByTheirStart) {
  Recorded trace(R"(
process parent pid=9
process a pid=10 parent=parent start=1
process b pid=11 parent=parent start=2
parent 0.1 +0.1 open path=x flags=wronly|creat file=1
a 1.1 +0.1 connect inode=1
b 2.2 +0.1 connect inode=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(by_pid(*reading, 10).rank, 0);
  EXPECT_EQ(by_pid(*reading, 11).rank, 1);
  EXPECT_EQ(by_pid(*reading, 9).role, Role::kLauncher);
}

}  // namespace
}  // namespace ddpscope::reading
