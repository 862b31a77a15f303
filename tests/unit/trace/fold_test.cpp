// A run of calls becomes one record that is opened anew.
#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

class Fold : public testing::Test {
 protected:
  // A read of 10 bytes of `file`, folded into the one before where that is possible.
  void read_10(std::uint32_t file) {
    ThreadWriter& thread = recording_.thread();
    OpenRecord open = thread.reopen(recording_.file(), Call::read, file);
    if (!open) {
      payload::FileIo payload{};
      payload.file = file;
      open = thread.open<Call::read>(recording_.file(), payload, next_tick());
      thread.set_fold_key(file);
    }
    ++open.payload<payload::FileIo>().count;
    open.payload<payload::FileIo>().bytes += 10;
    recording_.close(open);
  }
  std::vector<payload::FileIo> reads() {
    std::vector<payload::FileIo> found;
    for (const Record& record : all_records(recording_.read()))
      if (record.call == static_cast<std::uint16_t>(Call::read))
        found.push_back(payload_of<payload::FileIo>(record));
    return found;
  }
  Recording recording_;
};

TEST_F(Fold, RunBecomesOneRecord) {
  for (int i = 0; i < 1000; ++i) read_10(3);
  ASSERT_EQ(reads().size(), 1u);
  EXPECT_EQ(reads()[0].count, 1000u);
  EXPECT_EQ(reads()[0].bytes, 10'000u);
  Record record = all_records(recording_.read()).at(0);
  EXPECT_GT(record.end, record.begin + 900);  // from the first call's begin to the last one's end
}

TEST_F(Fold, AnotherKeyBeginsAnotherRecord) {
  for (int i = 0; i < 4; ++i) read_10(3);
  for (int i = 0; i < 2; ++i) read_10(4);
  read_10(3);
  ASSERT_EQ(reads().size(), 3u);
  EXPECT_EQ(reads()[0].count, 4u);
  EXPECT_EQ(reads()[1].count, 2u);
}

TEST_F(Fold, ACallInBetweenEndsTheRun) {
  read_10(3);
  recording_.close(recording_.open_kept(recording_.thread(), 1));
  read_10(3);
  EXPECT_EQ(reads().size(), 2u);
}

TEST_F(Fold, AnotherThreadDoesNotEndIt) {
  ThreadWriter other{};
  read_10(3);
  recording_.close(recording_.open_kept(other, 1));
  read_10(3);
  EXPECT_EQ(reads().size(), 1u);
}

TEST_F(Fold, ReopenedRecordIsInsideAgain) {
  read_10(3);
  OpenRecord open = recording_.thread().reopen(recording_.file(), Call::read, 3);
  ASSERT_TRUE(open);
  EXPECT_EQ(all_records(recording_.read()).at(0).end, 0u);
  EXPECT_FALSE(recording_.thread().reopen(recording_.file(), Call::read, 3)) << "it is open already";
  recording_.close(open);
}

TEST_F(Fold, ReopenedRecordHoldsItsChunkInTheRing) {
  Recording small(2 * kPageBytes);
  OpenRecord open = small.thread().open<Call::read>(small.file(), {}, next_tick());
  small.thread().set_fold_key(7);
  small.close(open);
  ASSERT_TRUE(small.thread().reopen(small.file(), Call::read, 7));
  for (std::uint64_t i = 0; i < 1'000; ++i) small.close(small.open_bulk(small.thread(), i));
  EXPECT_EQ(all_records(small.read()).front().end, 0u);
}

}  // namespace
}  // namespace ddpscope::trace
