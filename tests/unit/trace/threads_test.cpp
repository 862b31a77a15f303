// Threads that write at once, and a signal handler in the middle of a writer.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

// `threads` threads write `records` kept and as many bulk records each, strings that all share, and end.
void write_together(Recording& recording, unsigned threads, std::uint64_t records) {
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&recording, records] {
      ThreadWriter writer{};
      for (std::uint64_t i = 0; i < records; ++i) {
        recording.close(recording.open_kept(writer, i));
        recording.close(recording.open_bulk(writer, i));
        writer.intern(recording.file(), ("string " + std::to_string(i % 100)).c_str());
      }
      writer.leave(recording.file());
    });
  for (std::thread& thread : running) thread.join();
}

// Kept records of each thread are there from 0 to the last, in order.
void expect_every_kept_record(const TraceFile& trace, unsigned threads, std::uint64_t records) {
  std::map<std::uint16_t, std::uint64_t> next;
  for (const RecordSpan& span : trace.records())
    for (const Record& record : span.records) {
      EXPECT_EQ(record.thread, span.thread);
      if (span.kind == ChunkKind::kRecords) {
        EXPECT_EQ(count_of(record), next[span.thread]++);
      }
    }
  EXPECT_EQ(next.size(), threads);
  for (auto [thread, count] : next) EXPECT_EQ(count, records) << "thread " << thread;
}

TEST(Threads, TwoWriteWithoutLoss) {
  Recording recording;
  write_together(recording, 2, 20'000);
  TraceFile trace = recording.read();
  EXPECT_TRUE(trace.damage().empty());
  expect_every_kept_record(trace, 2, 20'000);
  EXPECT_EQ(all_records(trace).size(), 80'000u);
}

TEST(Threads, ManyShareOneSmallRing) {
  Recording recording(256 * 1024);
  write_together(recording, 64, 1'000);
  TraceFile trace = recording.read();
  EXPECT_TRUE(trace.damage().empty());
  expect_every_kept_record(trace, 64, 1'000);
  std::uint64_t bulk = all_records(trace).size() - 64'000;
  EXPECT_EQ(
      bulk + recording.health(Health::bulk_records_overwritten) + recording.health(Health::bulk_records_lost),
      64'000u);
}

TEST(Threads, MoreThanAFileCanNameAreCounted) {
  Recording recording;
  recording.file().header().threads = 0xFFFE;
  ThreadWriter last{}, beyond{};
  EXPECT_TRUE(recording.open_kept(last, 1));
  EXPECT_EQ(last.number(recording.file()), 0xFFFF);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(recording.open_kept(beyond, 2));
  EXPECT_EQ(recording.health(Health::threads_lost), 1u);
  EXPECT_EQ(recording.health(Health::kept_records_lost), 3u);
}

// As the injector does it: `busy` spans the writer's own work when a record is opened, not when it is closed.
struct Interrupted {
  Recording recording;
  volatile sig_atomic_t busy = 0;
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> passed_by{0};

  OpenRecord open(std::uint64_t count) {
    if (busy) return {};
    busy = 1;
    OpenRecord record = recording.open_kept(recording.thread(), count);
    busy = 0;
    return record;
  }
};
Interrupted* interrupted;
constexpr std::uint64_t kFromHandler = 1'000'000'000;

void handler(int) {
  OpenRecord record = interrupted->open(kFromHandler + interrupted->handled);
  if (!record) {
    ++interrupted->passed_by;
    return;
  }
  interrupted->recording.close(record);
  ++interrupted->handled;
}

TEST(Threads, SignalHandlerThatInterruptsAWriterDoesNoHarm) {
  Interrupted state;
  interrupted = &state;
  struct sigaction action {
  }, before{};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, &before);
  constexpr std::uint64_t kSignals = 500;
  std::thread sender([&state, target = pthread_self()] {
    for (std::uint64_t sent = 1; sent <= kSignals; ++sent) {
      pthread_kill(target, SIGUSR1);
      while (state.handled + state.passed_by < sent) std::this_thread::yield();
    }
  });
  std::uint64_t written = 0;
  while (state.handled + state.passed_by < kSignals) state.recording.close(state.open(written++));
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);

  std::uint64_t from_handler = 0, from_loop = 0;
  for (const Record& record : all_records(state.recording.read())) {
    EXPECT_NE(record.end, 0u);
    if (count_of(record) >= kFromHandler) {
      EXPECT_EQ(count_of(record), kFromHandler + from_handler++);
    } else {
      EXPECT_EQ(count_of(record), from_loop++);
    }
  }
  EXPECT_EQ(from_loop, written);
  EXPECT_EQ(from_handler, state.handled);
}

}  // namespace
}  // namespace ddpscope::trace
