// Which rank failed first, and when nobody is said to have.
#include "collector/detectors/first_failure.h"

#include <gmock/gmock.h>

#include "collector/alignment/align.h"
#include "collector/detectors/job_failure.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::detectors {
namespace {

using ::testing::HasSubstr;

// Three ranks that meet at 0.1 s; the run above them lasts until 9 s.
std::string job(const std::string& ends) {
  std::string text = "process run pid=9 DDPSCOPE_RUN=x\nrun 0.05 +8.95 job_watched pid=9 status=1\n";
  for (const char* rank : {"0", "1", "2"})
    text += std::string("process r") + rank + " pid=1" + rank + " rank=" + rank +
            " world=3 DDPSCOPE_RUN=x\nr" + rank +
            " 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=" + rank + " size=3\n";
  return text + ends;
}

constexpr const char* kTwoRaise = R"(
r1 2 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r0 2.1 +0 python_traceback exception="OSError" stack="train.py:90 main"
r0 2.2 +0.001 exit status=1
r1 2.5 +0.001 exit status=1
r2 3 +0.001 exit status=1
run 2.9 +0 job_told pid=1 status=15
)";

template <class Find>
auto find_in(const std::string& text, Find&& find) {
  auto reading = tests::Recorded(text).read();
  EXPECT_TRUE(reading.ok()) << reading.error().what;
  alignment::align(reading->job);
  return find(reading->job, find_rank_ends(reading->job));
}

std::optional<findings::FirstFailure> first_failure_of(const std::string& ends) {
  return find_in(job(ends), find_first_failure);
}

std::optional<findings::JobFailure> failure_of(const std::string& ends) {
  return find_in(job(ends), find_job_failure);
}

TEST(FirstFailure, TheTracebackThatCameFirst) {
  auto failure = first_failure_of(kTwoRaise);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 1) << "it takes longer to exit than the one that noticed";
  EXPECT_EQ(failure->evidence.detail, "exited with 1 at train.py:88 main (RuntimeError)");
  EXPECT_THAT(failure->others, HasSubstr("rank 0 exited with 1 at train.py:90 main (OSError)"));
  EXPECT_THAT(failure->others, HasSubstr("rank 2 was sent a signal to end, and exited with 1"));
}

TEST(FirstFailure, WhoWasKilledWithoutBeingTold) {
  auto failure = first_failure_of(R"(
r2 2 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32
run 2.2 +0 process_ended pid=12 start_time=100000 status=137
run 2.2 +0 memory_ran_out pid=12 start_time=100000 killed=1
r0 2.4 +0.001 exit status=1
r1 2.5 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 2);
  EXPECT_EQ(
      failure->evidence.detail,
      "was ended by signal 9 (SIGKILL); the kernel's out-of-memory killer ended 1 process of its memory "
      "cgroup during the run");
}

// A thread of a library calls abort(): where the program was shows in what its main thread called last.
TEST(FirstFailure, WhoWasEndedFromOutsideHasThePlaceOfItsLastCall) {
  auto failure = first_failure_of(R"(
r1 1 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32 stack="train.py:88 main"
r1/2 1.3 +0.1 ncclCommGetAsyncError communicator=1 status=6 stack="watch.py:7 watch"
r1/2 1.5 +0 abort status=134
r0 1.6 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32 stack="train.py:90 main"
run 2.2 +0 process_ended pid=10 start_time=100000 status=139
r2 1.6 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32 stack="train.py:90 main"
run 2.3 +0 process_ended pid=12 start_time=100000 status=139
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.detail, "aborted (SIGABRT), after train.py:88 main");
  EXPECT_THAT(failure->others,
              HasSubstr("ranks 0 and 2 were ended by signal 11 (SIGSEGV), after train.py:90 main"));
}

TEST(FirstFailure, ATracebackThatTheRankOutlivedIsNotWhyItEnded) {
  auto failure = first_failure_of(R"(
r1 1 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r1 2 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32
r1 2.5 +0.001 exit status=3
r0 3 +0.001 exit status=0
r2 3 +0.001 exit status=0
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.detail, "exited with 3");
}

// Rank 0 may have noticed that rank 2 was gone, of which nobody knows how it ended.
TEST(FirstFailure, NobodyWhereARankStoppedBeforeForReasonsUnknown) {
  EXPECT_FALSE(first_failure_of(R"(
r0 2 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32
r1 2 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32
run 2.2 +0 process_ended pid=12 start_time=100000 status=0
r0 2.4 +0.001 exit status=1
r1 2.5 +0.001 exit status=0
)"));
}

TEST(FirstFailure, TheOneThatTimesOutLongBeforeSomebodyKillsTheOtherOne) {
  auto failure = first_failure_of(R"(
r1 2 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r1 2.5 +0.001 exit status=1
r2 2.6 +0.001 exit status=0
run 5 +0 process_ended pid=10 start_time=100000 status=137
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 1);
}

// NCCL's bootstrap: what follows goes another way.
TEST(FirstFailure, AConnectionThatWasOnlyNeededToBeginSaysNothingOfTheEnd) {
  auto failure = first_failure_of(R"(
r0 0.3 +0.001 stream_close inode=7 fd=9
r0 1.6 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32
run 2.2 +0 process_ended pid=12 start_time=100000 status=137
r0 2.6 +0.001 exit status=1
r1 2.7 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 2);
}

TEST(FirstFailure, WhoLeftBeforeIsToldBesideIt) {
  auto failure = first_failure_of(R"(
r1 2 +0.001 exit status=0
r0 2.1 +0 python_traceback exception="OSError" stack="train.py:90 main"
r0 2.2 +0.001 exit status=1
r2 2.3 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 0);
  EXPECT_THAT(failure->others, HasSubstr("rank 1 exited with 0, 0.099 s before that"));
}

TEST(FirstFailure, WhoDidNothingForLongIsToldBesideIt) {
  auto failure = first_failure_of(R"(
r1 1 +0.1 ncclAllReduce communicator=1 count=1000 datatype=f32 stack="train.py:90 main"
r0 8.1 +0 python_traceback exception="RuntimeError" stack="train.py:90 main"
r0 8.2 +0.001 exit status=1
r2 8.3 +0.001 exit status=1
run 8.4 +0 job_told pid=1 status=15
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 0);
  EXPECT_THAT(
      failure->others,
      HasSubstr(
          "rank 1 was sent a signal to end, after train.py:90 main, and had done nothing for 7.000 s then"));
}

TEST(FirstFailure, AWorkerThatWasKilledBeforeIsTold) {
  auto failure = first_failure_of(R"(
process w pid=20 parent=r1 rank=1 world=3 DDPSCOPE_RUN=x
w 1 +0.1 open path="/data/a.bin" file=1
run 2 +0 process_ended pid=20 start_time=100000 status=137
r1 2.1 +0 python_traceback exception="RuntimeError" stack="train.py:90 main"
r1 2.2 +0.001 exit status=1
r0 2.3 +0.001 exit status=1
r2 2.3 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 1);
  EXPECT_EQ(failure->evidence.detail,
            "exited with 1 at train.py:90 main (RuntimeError); its worker 20 had been ended by signal 9 "
            "(SIGKILL) 0.100 s before");
}

TEST(FirstFailure, NobodyWhereAllEndWell) {
  EXPECT_FALSE(first_failure_of("r0 2 +0.001 exit status=0\nr1 3 +0.001 exit status=0\n"));
}

TEST(FirstFailure, NobodyWhereAllExitWithTheSameCode) {
  EXPECT_FALSE(first_failure_of(
      "r0 2 +0.001 exit status=75\nr1 2.1 +0.001 exit status=75\nr2 2.2 +0.001 exit status=75\n"));
}

TEST(FirstFailure, ExitsWithOneAreFailuresWithoutAnExceptionToo) {
  auto failure = first_failure_of(
      "r1 2 +0.001 exit status=1\nr0 2.1 +0.001 exit status=1\nr2 2.2 +0.001 exit status=1\n");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 1);
}

// Two of three ranks, and the process that started them.
std::optional<findings::FirstFailure> failure_of_two(const std::string& ends) {
  std::string text =
      "process l pid=5\nl 0.01 +0.001 vfork pid=10 path=\"/usr/bin/python3\"\n"
      "l 0.02 +0.001 vfork pid=12 path=\"/usr/bin/python3\"\n"
      "l 0.03 +0.001 vfork pid=11 path=\"/usr/bin/python3\"\n";
  for (const char* rank : {"0", "1"})
    text += std::string("process r") + rank + " pid=1" + rank + " parent=l rank=" + rank + " world=3\nr" +
            rank + " 0.1 +0.1 open path=\"/data/a.bin\" file=1\n";
  auto reading = tests::Recorded(text + ends).read();
  EXPECT_TRUE(reading.ok()) << reading.error().what;
  alignment::align(reading->job);
  return find_first_failure(reading->job, find_rank_ends(reading->job));
}

TEST(FirstFailure, ARankThatFailedBeforeItsFirstRecordedCall) {
  auto failure = failure_of_two(R"(
l 1.5 +0.001 waitpid pid=0
l 2 +0.001 waitpid pid=12 status=256
l 2.1 +0.001 kill pid=10 status=15
l 2.1 +0.001 kill pid=11 status=15
r0 2.5 +0.001 exit status=1
r1 2.5 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 2) << "the only one of three that left no trace";
  EXPECT_THAT(failure->evidence.process, HasSubstr(":12"));
  EXPECT_EQ(failure->evidence.detail, "exited with 1 before its first recorded call");
  EXPECT_TRUE(failure->evidence.stack.empty()) << "that would be the launcher's";
  EXPECT_THAT(failure->others, HasSubstr("ranks 0 and 1 were sent a signal to end"));
}

TEST(FirstFailure, WhoLeftNoTraceIsToldBesideOneThatMayHaveFailedBefore) {
  auto failure = failure_of_two(R"(
r0 1.5 +0 python_traceback exception="OSError" stack="train.py:90 main"
r0 1.6 +0.001 exit status=1
l 2 +0.001 waitpid pid=12 status=256
l 2.1 +0.001 kill pid=11 status=15
r1 2.5 +0.001 exit status=1
)");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->evidence.rank, 0);
  EXPECT_THAT(
      failure->others,
      HasSubstr("rank 2 exited with 1 before its first recorded call, at some time from 0.020 s to 2.001 s"));
}

TEST(FirstFailure, NobodyOfAnEarlierAttempt) {
  EXPECT_FALSE(failure_of_two(R"(
l 0.001 +0.001 vfork pid=8 path="/usr/bin/python3"
l 0.005 +0.001 waitpid pid=8 status=256
r0 2.5 +0.001 exit status=0
r1 2.5 +0.001 exit status=0
)"));
}

TEST(FirstFailure, NobodyWhoseChildOfNoTraceEndsWell) {
  EXPECT_FALSE(failure_of_two(R"(
l 1 +0.001 waitpid pid=12 status=0
r0 2.5 +0.001 exit status=0
r1 2.5 +0.001 exit status=0
)"));
}

TEST(FirstFailure, NobodyWhereTheJobIsToldToEnd) {
  EXPECT_FALSE(first_failure_of(
      "run 1.9 +0 job_told pid=1 status=15\nr0 2 +0.001 exit status=1\nr1 2.1 +0.001 exit status=143\n"));
}

TEST(FirstFailure, NobodyWhereTheJobIsKilledRankByRank) {
  EXPECT_FALSE(first_failure_of(R"(
run 2 +0 process_ended pid=10 start_time=100000 status=137
run 2.1 +0 process_ended pid=11 start_time=100000 status=137
run 2.2 +0 process_ended pid=12 start_time=100000 status=137
)"));
}

TEST(JobFailure, NamesWhoFailedAndLeavesOutWhoWasToldToEnd) {
  auto failure = failure_of(kTwoRaise);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(failure->first_rank, 1);
  EXPECT_EQ(failure->how,
            "rank 0 exited with 1 at train.py:90 main (OSError); rank 1 exited with 1 at train.py:88 main "
            "(RuntimeError)");
}

TEST(JobFailure, OfOneRankAloneToo) {
  auto failure = find_in(R"(process r0 pid=10 rank=0
r0 1 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r0 2 +0.001 exit status=1
)",
                         find_job_failure);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->how, "rank 0 exited with 1 at train.py:88 main (RuntimeError)");
}

TEST(JobFailure, ItIsNoneToEndWellOrByAgreement) {
  std::string ends;
  for (const char* code : {"0", "75"}) {
    ends.clear();
    for (const char* rank : {"r0", "r1", "r2"})
      ends += std::string(rank) + " 2 +0.001 exit status=" + code + "\n";
    EXPECT_FALSE(failure_of(ends)) << code;
  }
  EXPECT_TRUE(
      failure_of("r0 2 +0.001 exit status=75\nr1 2 +0.001 exit status=75\nr2 2 +0.001 exit status=0\n"));
}

}  // namespace
}  // namespace ddpscope::detectors
