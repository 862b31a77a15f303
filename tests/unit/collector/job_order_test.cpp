// Records of several processes, merged by the times of the job.
#include "collector/model/job_order.h"

#include <gtest/gtest.h>

#include <utility>

#include <cstring>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::model {
namespace {

// Begins in ms, with the process.
std::vector<std::pair<std::int64_t, std::uint32_t>> opened(const Job& job, const std::vector<bool>& chosen) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> opened;
  for_each_in_time(job, chosen, {trace::Operation::kOpen}, [&](EventRef event, const trace::Record& record) {
    trace::Record there = job.record(event);
    EXPECT_EQ(std::memcmp(&record, &there, sizeof(record)), 0);
    opened.emplace_back((job.begin_ns(event) - job.processes[0].first_ns + 500'000) / 1'000'000,
                        event.process);
  });
  return opened;
}

TEST(JobOrder, GoesFromProcessToProcessAsTimeDoes) {
  tests::Recorded trace(R"(
for r in 0..2 {
  process r$r rank=$r world=3 until=9
  r$r 0.000 +0.001 mkdir path=own$r
}
r0 0.100 +0.001 open path=a file=1
r1 0.200 +0.001 open path=a file=1
r1 0.250 +0.001 close file=1
r1 0.300 +0.001 open path=b file=2
r0/2 0.350 +0.001 open path=c file=2
r0 0.400 +0.001 open path=d file=3
r2 0.350 +0.001 open path=e file=1
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading);
  alignment::align(reading->job);
  using Opened = std::vector<std::pair<std::int64_t, std::uint32_t>>;
  EXPECT_EQ(opened(reading->job, {true, true, true}),
            (Opened{{100, 0}, {200, 1}, {300, 1}, {350, 0}, {350, 2}, {400, 0}}));
  EXPECT_EQ(opened(reading->job, {true, false, false}), (Opened{{100, 0}, {350, 0}, {400, 0}}));
  EXPECT_EQ(opened(reading->job, {false, false, false}), Opened{});
}

}  // namespace
}  // namespace ddpscope::model
