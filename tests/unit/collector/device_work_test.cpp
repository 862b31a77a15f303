// Device work on the job's time line, linked to the calls that enqueued it.
#include "collector/model/device_work.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::model {
namespace {

class DeviceWorkTest : public testing::Test {
 protected:
  static Job read(const std::string& text) {
    tests::Recorded trace(text);
    auto reading = trace.read();
    EXPECT_TRUE(reading.ok());
    alignment::align(reading->job);
    return std::move(reading->job);
  }
};

const char* const kOneRank = R"(
process r0 rank=0 world=1 until=9
r0 1.000 +0.001 cudaLaunchKernel name="forward" stream=0x5 count=3
r0 1.010 +0.002 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
r0/2 1.011 +0.002 cudaMemcpyAsync bytes=4K kind=h2d stream=0x8
r0/3 1.200 +0.050 gpu kind=collective communicator=1 sequence=0 device=0 thread=1 called=1.010
r0/3 1.030 +0.010 gpu kind=kernel name="forward" device=0 stream=5 thread=1 called=1.0005
r0/3 1.020 +0.001 gpu kind=copy_to_device bytes=4K device=0 stream=8 thread=2 called=1.0115
r0/3 1.040 +0.001 gpu kind=kernel name="foreign" device=0 stream=9
r0/3 1.050 +0.001 gpu kind=kernel name="between" device=0 stream=9 thread=1 called=1.005
)";

TEST_F(DeviceWorkTest, IsInOrderOfTimeWithItsCalls) {
  Job job = read(kOneRank);
  auto intervals = device_intervals(job, 0, is_any);
  ASSERT_EQ(intervals.size(), 5u);
  auto calls = calls_of(job.processes[0], intervals);
  auto call = [&](std::size_t i) { return static_cast<trace::Call>(job.processes[0].record(calls[i]).call); };
  EXPECT_EQ(call(0), trace::Call::cudaMemcpyAsync);
  EXPECT_EQ(call(1), trace::Call::cudaLaunchKernel);  // a time within a run of calls
  EXPECT_EQ(calls[2], kNoCall);                       // whose call nobody knows
  EXPECT_EQ(calls[3], kNoCall);                       // no call of the thread was made then
  EXPECT_EQ(call(4), trace::Call::ncclAllReduce);
  EXPECT_EQ(intervals[4].end_ns - intervals[4].begin_ns, 50'000'000);
  EXPECT_EQ(intervals[1].begin_ns - intervals[0].begin_ns, 10'000'000);
  EXPECT_EQ(device_intervals(job, 0, is_collective).size(), 1u);
}

// Its rank was stopped or killed in a wait for it.
TEST_F(DeviceWorkTest, IsWithinTheLifeOfARankWithoutAnEnd) {
  const std::string work = R"(
r0 1.000 +0.002 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
r0/3 1.100 +0.500 gpu kind=collective communicator=1 sequence=0 device=0 thread=1 called=1.000
)";
  Job job = read("process r0 rank=0 world=1" + work);
  EXPECT_EQ(device_intervals(job, 0, is_any).at(0).end_ns, job.processes[0].last_ns);
  EXPECT_EQ(job.duration_ns, job.processes[0].last_ns);

  Job ended = read("process r0 rank=0 world=1" + work + "r0 1.200 +0 exit status=0\n");
  EXPECT_LT(ended.processes[0].last_ns, device_intervals(ended, 0, is_any).at(0).end_ns);
}

// The clocks of device and host were compared badly, as on a busy machine.
TEST_F(DeviceWorkTest, BeginsNoEarlierThanItsCall) {
  Job job = read(R"(
process r0 rank=0 world=1 until=9
r0 1.0000 +0.002 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
r0 1.0100 +0.002 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
r0/3 0.9997 +0.005 gpu kind=collective communicator=1 sequence=0 device=0 thread=1 called=1.0000
r0/3 1.0097 +0.005 gpu kind=collective communicator=1 sequence=1 device=0 thread=1 called=1.0100
)");
  auto intervals = device_intervals(job, 0, is_any);
  auto calls = calls_of(job.processes[0], intervals);
  ASSERT_EQ(intervals.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_NE(calls[i], kNoCall);
    std::int64_t called_ns = job.begin_ns(0, job.processes[0].record(calls[i]));
    EXPECT_GE(intervals[i].begin_ns, called_ns);
    EXPECT_LT(intervals[i].begin_ns, called_ns + 100);
    EXPECT_EQ(intervals[i].end_ns - intervals[i].begin_ns, 5'000'000);
  }
}

TEST_F(DeviceWorkTest, KnowsKernelsOfNccl) {
  Job job = read(R"(
process r0 rank=0 world=1 until=9
r0 1.0 +0.1 gpu kind=kernel name="_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
r0 1.2 +0.1 gpu kind=kernel name="ncclKernel_AllReduce_RING_LL_Sum_float"
r0 1.4 +0.1 gpu kind=kernel name="_Z7forwardPf"
r0 1.6 +0.1 gpu kind=kernel name="_Z"
r0 1.8 +0.1 gpu kind=fill bytes=4
)");
  std::vector<bool> found;
  for (const DeviceInterval& interval : device_intervals(job, 0, is_any))
    found.push_back(is_nccl_kernel(job.processes[0].file, interval.work));
  EXPECT_EQ(found, (std::vector<bool>{true, true, false, false, false}));
}

TEST_F(DeviceWorkTest, FindsFoldedCalls) {
  std::string text = "process r0 rank=0 world=1 until=9 fold=1\n";
  for (int i = 0; i < 50; ++i) {
    std::string at = std::to_string(1 + i) + ".000000123";
    text += "r0 " + at + " +0.000004 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7\n";
    text += "r0/2 " + at + " +0.5 gpu kind=collective communicator=1 sequence=" + std::to_string(i) +
            " thread=1 called=" + at + "\n";
  }
  Job job = read(text);
  auto intervals = device_intervals(job, 0, is_collective);
  ASSERT_EQ(intervals.size(), 50u);
  auto calls = calls_of(job.processes[0], intervals);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_NE(calls[i], kNoCall) << i;
    auto collective = trace::payload_of<trace::payload::Collective>(job.processes[0].record(calls[i]));
    EXPECT_EQ(collective.sequence, intervals[i].work.subject >> 32);
  }
}

TEST_F(DeviceWorkTest, ToldByItsTimingInOrder) {
  Job job = read(R"(
process r0 rank=0 world=2 until=9
process r1 rank=1 world=2 until=9
r0 0.5 +0 device_timing tier="cupti"
r0 2.5 +0 device_timing tier="none" reason="another profiler came"
r0 0.6 +0 device_clock device_ns=5 host=0.6 error_ns=700
r0 0.7 +0 device_clock device_ns=6 host=0.7 error_ns=200
r1 0.5 +0 device_timing tier="events" reason="no CUPTI"
)");
  auto periods = timing_periods(job, 0);
  ASSERT_EQ(periods.size(), 2u);
  EXPECT_EQ(periods[0].tier, "cupti");
  EXPECT_EQ(periods[1].reason, "another profiler came");
  EXPECT_EQ(gpu_timing(job), "cupti");
  EXPECT_EQ(device_clock_error_ns(job, 0), 700);
  EXPECT_EQ(device_clock_error_ns(job, 1), 0);
  EXPECT_EQ(gpu_timing(read("process r0 rank=0 world=1 until=9\n")), "none");
}

// 0.1 s at no more than 10 us a second.
TEST_F(DeviceWorkTest, AClockThatIsKnownInTheEndWasRightBefore) {
  Job job = read(R"(
process r0 rank=0 world=3 until=9
process r1 rank=1 world=3 until=9
process r2 rank=2 world=3 until=9
r0 0.1 +0 device_clock device_ns=500000000 host=0.1 error_ns=20000000
r0 0.2 +0 device_clock device_ns=600000000 host=0.2 error_ns=200
r0 0.3 +0 device_clock device_ns=700000000 host=0.3 error_ns=30000000
r1 0.1 +0 device_clock device_ns=500000000 host=0.1 error_ns=20000000
r1 0.2 +0 device_clock device_ns=600000000 host=0.2 error_ns=200 device=1
r2 0.1 +0 device_clock host=0.1 error_ns=20000
r2 0.2 +0 device_clock host=0.2 error_ns=200
)");
  EXPECT_NEAR(static_cast<double>(device_clock_error_ns(job, 0)), 200 + 1000, 2);
  EXPECT_EQ(device_clock_error_ns(job, 1), 20'000'000);  // another device's clock
  EXPECT_EQ(device_clock_error_ns(job, 2), 20'000);      // events
}

TEST_F(DeviceWorkTest, ATierThatWasAskedForAndNeverCameHasAReason) {
  auto why = [this](const std::string& lines) {
    return why_untimed(read("process r0 rank=0 world=1 until=9\n" + lines), 0);
  };
  const std::string profiler = "r0 0.1 +0 environment name=\"DDPSCOPE_GPU_TIMING\" value=\"profiler\"\n";
  const std::string cupti = "r0 0.1 +0 environment name=\"DDPSCOPE_GPU_TIMING\" value=\"cupti\"\n";
  const std::string malloc = "r0 0.2 +0.1 cudaMalloc device=0\n", device = "r0 0.3 +0 device device=0\n";
  const std::string nccl = "r0 0.4 +0.1 ncclGetUniqueId\n";
  EXPECT_EQ(why(profiler), "profiler was asked for, and no call of CUDA was seen");
  EXPECT_EQ(why(cupti), "cupti was asked for, and no call of CUDA was seen");
  EXPECT_EQ(why(cupti + malloc), "cupti was asked for, and no call of CUDA succeeded");
  EXPECT_EQ(why(profiler + malloc + device), "profiler was asked for, and no call of NCCL was seen");
  EXPECT_EQ(why(profiler + malloc + device + nccl),
            "profiler was asked for, and no collective of NCCL was seen");
  // A tier was told, or none was asked for by name.
  EXPECT_EQ(why(profiler + malloc + device + "r0 0.5 +0 device_timing tier=\"events\" reason=\"old\"\n"), "");
  EXPECT_EQ(why(malloc + device), "");
  for (const char* tier : {"auto", "none"})
    EXPECT_EQ(why("r0 0.1 +0 environment name=\"DDPSCOPE_GPU_TIMING\" value=\"" + std::string(tier) + "\"\n"),
              "");
}

}  // namespace
}  // namespace ddpscope::model
