// Device work: kept or in the ring by its kind, told apart from what cannot be, found by its call's time.
#include "trace/device_work.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/unit/trace/recording.h"

namespace ddpscope::trace {
namespace {

constexpr std::uint64_t kSmallRing = 64 * 1024;

DeviceWork work_at(std::uint64_t begin, DeviceWorkKind kind, std::uint64_t subject = 0) {
  return {begin, 100, call_time(begin), subject, 7, 1, kind, 0};
}

// Collectives are kept, all else goes into the ring.
bool add(ThreadWriter& thread, FileWriter& file, const DeviceWork& work) {
  return thread.add_device_work(file, work,
                                work.kind == DeviceWorkKind::kCollective ? Budget::kKept : Budget::kBulk);
}

std::vector<DeviceWork> all_of(const TraceFile& trace, DeviceWorkKind kind) {
  std::vector<DeviceWork> found;
  for (const DeviceSpan& span : trace.device_work())
    for (const DeviceWork& work : span.work)
      if (work.kind == kind) found.push_back(work);
  return found;
}

TEST(DeviceWork, ComesBackByteByByte) {
  Recording recording;
  DeviceWork kernel{next_tick(), 1234.5f, 99, 5, 13, 3, DeviceWorkKind::kKernel, 2};
  DeviceWork collective{
      next_tick(), 7, 98, 1 | std::uint64_t{42} << 32, 14, 4, DeviceWorkKind::kCollective, 1};
  ASSERT_TRUE(add(recording.thread(), recording.file(), kernel));
  ASSERT_TRUE(add(recording.thread(), recording.file(), collective));
  TraceFile trace = recording.read();
  ASSERT_TRUE(trace.damage().empty());
  auto kernels = all_of(trace, DeviceWorkKind::kKernel);
  auto collectives = all_of(trace, DeviceWorkKind::kCollective);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(std::memcmp(&kernels[0], &kernel, sizeof(kernel)), 0);
  EXPECT_EQ(std::memcmp(&collectives[0], &collective, sizeof(collective)), 0);
}

TEST(DeviceWork, CostsAtMost34BytesInTheFile) {
  Recording recording;
  constexpr std::uint64_t kCount = 200'000;
  for (std::uint64_t i = 0; i < kCount; ++i)
    ASSERT_TRUE(
        add(recording.thread(), recording.file(), work_at(next_tick(), DeviceWorkKind::kCollective, i)));
  EXPECT_LE(recording.file().header().file_bytes, 34 * kCount);
  EXPECT_EQ(all_of(recording.read(), DeviceWorkKind::kCollective).size(), kCount);
}

TEST(DeviceWork, KernelsShareTheRingWithBulkRecordsAndCollectivesStay) {
  Recording recording(kSmallRing);
  constexpr std::uint64_t kRounds = 30'000;
  ThreadWriter other{};
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    recording.close(recording.open_bulk(recording.thread(), i));
    ASSERT_TRUE(add(other, recording.file(), work_at(next_tick(), DeviceWorkKind::kKernel, i)));
    if (i % 100 == 0) {
      ASSERT_TRUE(add(other, recording.file(), work_at(next_tick(), DeviceWorkKind::kCollective, i)));
    }
  }
  TraceFile trace = recording.read();
  EXPECT_TRUE(trace.damage().empty()) << trace.damage().front();
  EXPECT_EQ(all_of(trace, DeviceWorkKind::kCollective).size(), kRounds / 100);
  auto kernels = all_of(trace, DeviceWorkKind::kKernel);
  EXPECT_FALSE(kernels.empty());
  EXPECT_EQ(kernels.size() + recording.health(Health::device_work_overwritten), kRounds);
  std::uint64_t records = 0;
  for (const RecordSpan& span : trace.records()) records += span.records.size();
  EXPECT_EQ(records + recording.health(Health::bulk_records_overwritten), kRounds);
  bool latest = std::any_of(kernels.begin(), kernels.end(),
                            [](const DeviceWork& work) { return work.subject == kRounds - 1; });
  EXPECT_TRUE(latest);
}

// A thread that has left gives its chunks to whoever needs one, for whatever it needs it.
TEST(DeviceWork, AChunkOfTheRingMayBecomeOneOfTheOtherKind) {
  Recording recording(kSmallRing);
  {
    ThreadWriter gone{};
    for (std::uint64_t i = 0; i < 5'000; ++i)
      add(gone, recording.file(), work_at(next_tick(), DeviceWorkKind::kFill, i));
    gone.leave(recording.file());
  }
  for (std::uint64_t i = 0; i < 5'000; ++i) recording.close(recording.open_bulk(recording.thread(), i));
  TraceFile trace = recording.read();
  EXPECT_TRUE(trace.damage().empty());
  EXPECT_EQ(recording.health(Health::bulk_records_lost), 0u);
  EXPECT_LE(trace.header().file_bytes, kHeaderBytes + kSmallRing + kMaxChunkBytes);
}

TEST(DeviceWork, WhatCannotBeIsLeftOutAndTold) {
  Recording recording;
  std::uint64_t now = next_tick();
  DeviceWork good = work_at(now, DeviceWorkKind::kKernel);
  DeviceWork unknown = work_at(now, static_cast<DeviceWorkKind>(kDeviceWorkKinds + 1));
  DeviceWork never = work_at(~std::uint64_t{0}, DeviceWorkKind::kKernel);
  DeviceWork no_number = good, backwards = good, endless = good;
  no_number.duration = std::numeric_limits<float>::quiet_NaN();
  backwards.duration = -1;
  endless.duration = std::numeric_limits<float>::infinity();
  for (const DeviceWork& work : {good, unknown, never, no_number, backwards, endless, good})
    ASSERT_TRUE(add(recording.thread(), recording.file(), work));
  TraceFile trace = recording.read();
  EXPECT_EQ(all_of(trace, DeviceWorkKind::kKernel).size(), 2u);
  ASSERT_EQ(trace.damage().size(), 1u);
  EXPECT_NE(trace.damage()[0].find("5 of the device's times"), std::string::npos);
}

TEST(DeviceWork, ACallIsFoundByThirtyTwoBitsOfItsTime) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << kCallTimeBits;
  for (std::uint64_t called : {std::uint64_t{16}, std::uint64_t{0xFFFF'FFFF'F0}, std::uint64_t{1} << 60})
    for (std::uint64_t later : {std::uint64_t{0}, std::uint64_t{5'000}, (std::uint64_t{1} << 36) - 2 * kUnit})
      EXPECT_EQ(ticks_of_call(call_time(called), called + later), called / kUnit * kUnit)
          << called << " " << later;
}

}  // namespace
}  // namespace ddpscope::trace
