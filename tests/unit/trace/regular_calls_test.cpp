// Regular calls fold to 8 bytes each and come back as if they had not.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint64_t kUnit = 1u << kFoldedTickBits;

// What one call was, as it happened.
struct Happened {
  payload::Collective payload;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t stack;
};

class Regular : public testing::Test {
 protected:
  payload::Collective collective(std::uint32_t communicator, std::uint64_t count) {
    payload::Collective payload{};
    payload.communicator = communicator;
    payload.sequence = sequences_[communicator]++;
    payload.count = count;
    payload.peer = -1;
    return payload;
  }

  OpenRecord open(const payload::Collective& payload, std::uint32_t stack = 0) {
    return recording_.thread().open_regular<Call::ncclAllReduce>(recording_.file(), payload, ticks_, stack);
  }

  // A call that takes `duration` ticks; the next one begins `gap` ticks after its end.
  void call(payload::Collective payload, std::uint64_t duration = 1'000, std::uint64_t gap = 100,
            std::uint32_t stack = 0, std::uint8_t result = 0) {
    std::uint64_t begin = ticks_;
    OpenRecord record = open(payload, stack);
    record.payload<payload::Collective>().result = payload.result = result;
    ThreadWriter::close(recording_.file(), record, begin + duration);
    happened_.push_back({payload, begin, begin + duration, stack});
    ticks_ += duration + gap;
  }

  // Collectives of the file in the order of their begins.
  std::vector<Record> found() {
    std::vector<Record> records = all_records(recording_.read());
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.begin < b.begin; });
    return records;
  }

  std::size_t plain() {
    std::size_t count = 0;
    TraceFile trace = recording_.read();
    for (const RecordSpan& span : trace.records())
      if (span.kind == ChunkKind::kRecords) count += span.records.size();
    return count;
  }

  void expect_all() {
    std::vector<Record> records = found();
    ASSERT_EQ(records.size(), happened_.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Happened& truth = happened_[i];
      auto payload = payload_of<payload::Collective>(records[i]);
      ASSERT_EQ(std::memcmp(&payload, &truth.payload, sizeof(payload)), 0) << "call " << i;
      EXPECT_EQ(records[i].stack, truth.stack);
      EXPECT_EQ(records[i].call, static_cast<std::uint16_t>(Call::ncclAllReduce));
      EXPECT_EQ(records[i].thread, 1);
      EXPECT_GE(records[i].begin, truth.begin);
      EXPECT_LT(records[i].begin, truth.begin + kUnit);
      EXPECT_LE(records[i].end, truth.end);
      EXPECT_GT(records[i].end + kUnit, truth.end);
      if (i) {
        EXPECT_GE(records[i].begin, records[i - 1].end) << "calls of a thread stay apart";
      }
    }
    EXPECT_TRUE(recording_.read().damage().empty());
  }

  Recording recording_;
  std::map<std::uint32_t, std::uint32_t> sequences_;
  std::vector<Happened> happened_;
  std::uint64_t ticks_ = 5'000'000'000;
};

TEST_F(Regular, FirstOfAKindIsARecordTheNextAreFolded) {
  for (int i = 0; i < 10; ++i) call(collective(1, 1'000));
  EXPECT_EQ(plain(), 1u);
  expect_all();
}

TEST_F(Regular, StepsOfManyBucketsOnTwoCommunicatorsComeBack) {
  std::mt19937 random(1);
  for (int step = 0; step < 1'000; ++step) {
    for (std::uint64_t bucket = 0; bucket < 20; ++bucket)
      call(collective(1, 1'000 + bucket), 16 + random() % 100'000, random() % 50);
    call(collective(2, 1), 16 + random() % 1'000'000, random() % 50, 7);
  }
  EXPECT_EQ(plain(), 21u);
  expect_all();
  EXPECT_LE(recording_.file().header().file_bytes, 10 * happened_.size() + 2 * kMaxChunkBytes);
}

TEST_F(Regular, CallsThatNeverRecurCostNoMoreThanRecords) {
  for (std::uint64_t i = 0; i < 100'000; ++i) call(collective(1, i));
  EXPECT_EQ(plain(), 100'000u);
  EXPECT_LE(recording_.file().header().file_bytes, 68 * happened_.size());
}

TEST_F(Regular, OpenCallIsARecordLikeAnyOther) {
  for (int i = 0; i < 5; ++i) call(collective(1, 1'000));
  OpenRecord inside = open(collective(1, 1'000), 3);
  EXPECT_FALSE(inside.fold) << "another call site: the first of its kind";
  ThreadWriter::close(recording_.file(), inside, ticks_ + 100);
  ticks_ += 1'000;
  inside = open(collective(1, 1'000));
  ASSERT_TRUE(inside.fold);
  Record record = found().back();
  EXPECT_EQ(record.begin, ticks_) << "exact as long as it is open";
  EXPECT_EQ(record.end, 0u);
  EXPECT_EQ(payload_of<payload::Collective>(record).sequence, 6u);
  EXPECT_EQ(found().size(), 7u);
  ThreadWriter::close(recording_.file(), inside, ticks_ + 500);
  EXPECT_EQ(found().size(), 7u);
  EXPECT_NE(found().back().end, 0u);
}

TEST_F(Regular, FailureIsToldAndDoesNotSpreadToItsNeighbours) {
  for (int i = 0; i < 10; ++i) call(collective(1, 1'000), 1'000, 100, 0, i == 6 ? 5 : 0);
  expect_all();
}

TEST_F(Regular, SequenceNumbersOfOthersInBetweenAreLeftOut) {
  for (int i = 0; i < 100; ++i) {
    call(collective(1, 1'000));
    if (i % 7 == 0) sequences_[1] += 3;  // another thread's
  }
  expect_all();
}

TEST_F(Regular, LongCallsAndLongPausesKeepTheirTimes) {
  for (std::uint64_t bits = 4; bits < 44; ++bits) call(collective(1, 1'000), std::uint64_t{1} << bits, 1);
  for (std::uint64_t bits = 4; bits < 44; ++bits) call(collective(1, 1'000), 100, std::uint64_t{1} << bits);
  expect_all();
}

TEST_F(Regular, MoreKindsThanAChunkCanNameAllComeBack) {
  std::mt19937 random(2);
  for (int i = 0; i < 50'000; ++i) call(collective(1, random() % 600));
  expect_all();
}

TEST_F(Regular, ManyCommunicatorsKeepTheirSequences) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) call(collective(1 + random() % 40, 1'000));
  expect_all();
}

TEST_F(Regular, CommunicatorsBeyondAWordAreRecords) {
  for (int i = 0; i < 10; ++i) call(collective(1u << 24, 1'000));
  EXPECT_EQ(plain(), 10u);
  expect_all();
}

TEST_F(Regular, CallsWithoutASequenceFoldToo) {
  for (int i = 0; i < 100; ++i) {
    auto open = recording_.thread().open_regular<Call::ncclGroupStart>(recording_.file(), {0, 0}, ticks_);
    ThreadWriter::close(recording_.file(), open, ticks_ + 50);
    ticks_ += 100;
  }
  std::vector<Record> records = found();
  EXPECT_EQ(records.size(), 100u);
  EXPECT_EQ(plain(), 1u);
  for (const Record& record : records) EXPECT_EQ(payload_of<payload::Group>(record).depth, 0u);
}

TEST_F(Regular, CallThatWasLeftByLongjmpStaysOpenAndNothingElseIsLost) {
  for (int i = 0; i < 5; ++i) call(collective(1, 1'000));
  open(collective(1, 1'000));
  ticks_ += 100;
  std::size_t before = found().size();
  for (int i = 0; i < 5; ++i) call(collective(1, 1'000));
  EXPECT_EQ(found().size(), before + 5);
  auto open_calls = found();
  EXPECT_EQ(
      std::count_if(open_calls.begin(), open_calls.end(), [](const Record& record) { return !record.end; }),
      1);
}

TEST_F(Regular, ItEndsARunOfOtherCalls) {
  for (int i = 0; i < 3; ++i) call(collective(1, 1'000));
  auto read = recording_.thread().open<Call::read>(recording_.file(), {}, ticks_);
  recording_.thread().set_fold_key(9);
  ThreadWriter::close(recording_.file(), read, ticks_ + 10);
  ticks_ += 100;
  std::uint32_t opened = recording_.thread().opened();
  call(collective(1, 1'000));
  EXPECT_EQ(recording_.thread().opened(), opened + 1);
  EXPECT_FALSE(recording_.thread().reopen(recording_.file(), Call::read, 9));
}

TEST_F(Regular, ChildOfAForkCannotCloseIt) {
  for (int i = 0; i < 3; ++i) call(collective(1, 1'000));
  OpenRecord inside = open(collective(1, 1'000));
  pid_t child = fork();
  if (child == 0) {
    recording_.file().abandon();
    recording_.thread().forget();
    ThreadWriter::close(recording_.file(), inside, ticks_ + 100);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(found().back().end, 0u);
}

void write_much(Recording& recording, int ready) {
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    payload::Collective payload{};
    payload.communicator = 1;
    payload.sequence = i;
    payload.count = i % 5;
    auto open =
        recording.thread().open_regular<Call::ncclAllReduce>(recording.file(), payload, 32 * next_tick());
    ThreadWriter::close(recording.file(), open, 32 * next_tick());
    if (i == 100 && write(ready, "x", 1) != 1) _exit(1);
  }
}

TEST_F(Regular, KillAtAnyMomentLosesNothingAndDoublesNothing) {
  for (useconds_t delay_us = 0; delay_us < 1'500; delay_us += 137) {
    Recording recording;
    ASSERT_NO_FATAL_FAILURE(kill_in_the_midst(delay_us, [&](int ready) { write_much(recording, ready); }));
    TraceFile trace = recording.read();
    EXPECT_TRUE(trace.damage().empty());
    std::vector<Record> records = all_records(trace);
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.begin < b.begin; });
    ASSERT_GE(records.size(), 100u);
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(payload_of<payload::Collective>(records[i]).sequence, i);
      ASSERT_EQ(records[i].end == 0, i + 1 == records.size() && records[i].end == 0)
          << "only the last may be open";
    }
  }
}

TEST(RegularThreads, ShareAFileAndACommunicator) {
  Recording recording;
  std::atomic<std::uint32_t> sequence{0};
  auto work = [&] {
    ThreadWriter writer{};
    for (int i = 0; i < 20'000; ++i) {
      payload::Collective payload{};
      payload.communicator = 1;
      payload.sequence = sequence++;
      auto open = writer.open_regular<Call::ncclAllReduce>(recording.file(), payload, 32 * next_tick());
      ThreadWriter::close(recording.file(), open, 32 * next_tick());
    }
    writer.leave(recording.file());
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  std::vector<bool> seen(40'000);
  for (const Record& record : all_records(recording.read())) {
    std::uint32_t number = payload_of<payload::Collective>(record).sequence;
    ASSERT_LT(number, seen.size());
    EXPECT_FALSE(seen[number]);
    seen[number] = true;
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool one) { return one; }));
}

// A stretch of them is made at a time, in whatever order they are asked for.
TEST_F(Regular, AnyOfThemIsFoundByItsPlace) {
  for (int i = 0; i < 1000; ++i) call(collective(1 + i % 3, 64), 1'000 + i, i % 50 ? 100 : 1u << 30, i % 2);
  open(collective(1, 64));
  TraceFile trace = recording_.read();
  std::size_t seen = 0;
  for (const RecordSpan& span : trace.records()) {
    std::vector<Record> in_order;
    for (const Record& record : span.records) in_order.push_back(record);
    ASSERT_EQ(in_order.size(), span.records.size());
    RecordReader reader(span.records);
    for (std::size_t i = in_order.size(); i-- > 0; ++seen) {
      Record single = span.records[i];
      ASSERT_EQ(std::memcmp(&single, &in_order[i], sizeof(Record)), 0) << i;
      ASSERT_EQ(std::memcmp(&reader[i], &in_order[i], sizeof(Record)), 0) << i;
    }
  }
  EXPECT_EQ(seen, 1001u);
}

}  // namespace
}  // namespace ddpscope::trace
