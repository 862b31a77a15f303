// What becomes of a file when its process is killed, forks or is copied behind our back.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

// Runs `body` in a child process and returns what wait() says of it.
template <class Body>
int in_child(Body&& body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Kill, OpenRecordIsProofOfWhereTheProcessWas) {
  Recording recording;
  int status = in_child([&recording] {
    for (std::uint64_t i = 0; i < 500; ++i) recording.close(recording.open_kept(recording.thread(), i));
    recording.open_kept(recording.thread(), 500);
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  TraceFile trace = recording.read();
  std::vector<Record> records = all_records(trace);
  ASSERT_EQ(records.size(), 501u);
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_NE(records[i].end, 0u);
  EXPECT_EQ(records[500].end, 0u);
  EXPECT_EQ(count_of(records[500]), 500u);
  EXPECT_TRUE(trace.damage().empty());
  EXPECT_EQ(trace.header().ended, 0u);
}

TEST(Ending, AfterTheReadingIsToldByTheFile) {
  Recording recording;
  TraceFile trace = recording.read();
  EXPECT_FALSE(trace.ended_since());
  recording.file().header().ended = 1;
  EXPECT_TRUE(trace.ended_since());
  EXPECT_FALSE(recording.read().ended_since());
}

// Records i, its path "path i" and an item.
void write_much(Recording& recording, int ready) {
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    payload::FileOpen payload{};
    payload.inode = i;
    payload.path = recording.thread().intern(recording.file(), ("path " + std::to_string(i)).c_str());
    recording.close(recording.thread().open<Call::open>(recording.file(), payload, next_tick()));
    recording.thread().add_item(recording.file(), {i, 1, 1});
    if (i == 100 && write(ready, "x", 1) != 1) _exit(1);
  }
}

void expect_whole(const TraceFile& trace) {
  for (const std::string& sentence : trace.damage()) ADD_FAILURE() << sentence;
  std::uint64_t next = 0;
  for (const Record& record : all_records(trace)) {
    auto payload = payload_of<payload::FileOpen>(record);
    EXPECT_EQ(payload.inode, next);
    EXPECT_EQ(trace.string(payload.path), "path " + std::to_string(next));
    ++next;
  }
  EXPECT_GE(next, 100u);
  std::uint64_t items = 0;
  for (const ItemSpan& span : trace.items())
    for (const ItemRead& item : span.items) EXPECT_EQ(item.offset, items++);
  EXPECT_LE(items, next);
  EXPECT_GE(items + 1, next);
}

TEST(Kill, WhateverTheMomentAllThatIsVisibleIsWhole) {
  for (useconds_t delay_us = 0; delay_us < 2'000; delay_us += 157) {
    Recording recording;
    ASSERT_NO_FATAL_FAILURE(kill_in_the_midst(delay_us, [&](int ready) { write_much(recording, ready); }));
    expect_whole(recording.read());
  }
}

TEST(Fork, ChildLeavesItsParentsFileAloneAndHasItsOwn) {
  Recording recording;
  OpenRecord forking = recording.open_kept(recording.thread(), 7);
  int status = in_child([&] {
    recording.file().abandon();
    recording.thread().forget();
    recording.close(forking);  // as the hook of fork() does in both processes
    Identity child = test_identity();
    child.pid = 43;
    if (!recording.file().open(recording.folder().c_str(), child, test_clock(), 1 << 20, false)) _exit(1);
    recording.close(recording.open_kept(recording.thread(), 8));
  });
  EXPECT_EQ(status, 0);
  std::vector<Record> parents = all_records(recording.read());
  ASSERT_EQ(parents.size(), 1u);
  EXPECT_EQ(parents[0].end, 0u);
  EXPECT_EQ(parents[0].begin, forking.record->begin);
  auto childs = TraceFile::open(recording.folder() / "host.43.777.ddps");
  ASSERT_TRUE(childs);
  std::vector<Record> records = all_records(*childs);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(count_of(records[0]), 8u);
  EXPECT_NE(records[0].end, 0u);
  EXPECT_EQ(records[0].thread, 1);
}

TEST(Fork, AbandonedWriterTakesNothing) {
  Recording recording;
  recording.file().abandon();
  EXPECT_FALSE(recording.file().is_open());
  EXPECT_EQ(recording.file().open_chunk(ChunkKind::kRecords, 1, kPageBytes), nullptr);
  recording.file().count(Health::stacks_lost);
}

TEST(Fork, CopyMadeWithoutForkGetsNoChunk) {
  TemporaryFolder folder;
  Identity identity = test_identity();
  identity.pid = getpid();
  FileWriter file{};
  ASSERT_TRUE(file.open(folder.path().c_str(), identity, test_clock(), 1 << 20, true));
  int status = in_child([&file] {
    ThreadWriter thread{};
    if (thread.open<Call::ncclAllReduce>(file, {}, 1)) _exit(1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(file.header().health[static_cast<int>(Health::stray_process)], 1u);
  ThreadWriter thread{};
  EXPECT_TRUE(thread.open<Call::ncclAllReduce>(file, {}, 1));
}

}  // namespace
}  // namespace ddpscope::trace
