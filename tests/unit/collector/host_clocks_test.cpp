// Clocks of hosts that are a second apart and drift, from whole traces: what is printed as the bound holds
// for events of which the trace knows the true time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::alignment {
namespace {

using model::Alignment;

struct Shape {
  int hosts, ranks_per_host, steps;
  double step_s = 0.1;
  double straggler_s = 0;  // by how much rank 0 comes later to each
  bool waits = true;
};

// Each host's clocks are drawn up to a second and a hundred ppm off.
class JobText {
 public:
  JobText(const Shape& shape, std::uint32_t seed) : shape_(shape), random_(seed) {
    for (int h = 0; h < shape.hosts; ++h)
      text_ += fmt::format("host h{} monotonic={:.6f} realtime={:.6f} drift={:.3f}\n", h, uniform(-1, 1),
                           uniform(-1, 1), uniform(-100, 100));
    int ranks = shape.hosts * shape.ranks_per_host;
    double end = 2 + shape.steps * shape.step_s;
    for (int r = 0; r < ranks; ++r)
      text_ += fmt::format("process r{0} host=h{1} rank={0} world={2} until={3}\n", r,
                           r / shape.ranks_per_host, ranks, end + 1);
    meet("ncclCommInitRank communicator=1 id=0xabc", 0.5, 0.3);
    for (int s = 0; s < shape.steps; ++s)
      meet("ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7", 1 + s * shape.step_s, 0.002);
    for (double at = 0.1; at < end; at += (end - 0.1) / 5)
      text_ += fmt::format("r* {:.9f} +0.001 stat path=x\n", at);
  }

  const std::string& text() const { return text_; }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }

  // All begin within `jitter`; none knows the end before all have begun.
  void meet(const std::string& call, double at, double jitter) {
    int ranks = shape_.hosts * shape_.ranks_per_host;
    std::vector<double> begins;
    for (int r = 0; r < ranks; ++r) begins.push_back(at + uniform(0, jitter) + (r ? 0 : shape_.straggler_s));
    double done = *std::max_element(begins.begin(), begins.end()) + uniform(20e-6, 60e-6);
    bool makes = call.starts_with("ncclCommInitRank");
    for (int r = 0; r < ranks; ++r) {
      double known = done + uniform(0, 30e-6), begin = begins[static_cast<std::size_t>(r)];
      std::string own = makes ? fmt::format(" rank={} size={} device={}", r, ranks, r) : "";
      text_ += fmt::format("r{} {:.9f} +{:.9f} {}{}\n", r, begin, makes ? known - begin : 3e-6, call, own);
      if (!makes && shape_.waits)
        text_ += fmt::format("r{0} {1:.9f} +{2:.9f} cudaStreamSynchronize stream=0x7 device={0}\n", r,
                             begin + 5e-6, known - begin - 5e-6);
    }
  }

  Shape shape_;
  std::mt19937 random_;
  std::string text_;
};

model::Job aligned(const std::string& text) {
  tests::Recorded trace(text);
  auto reading = trace.read();
  EXPECT_TRUE(reading.ok());
  align(reading->job);
  return std::move(reading->job);
}

// What `stat` did at one true time on all processes: by how much their times differ beyond the bound, at
// most.
std::int64_t worst_excess(const model::Job& job) {
  std::vector<std::vector<std::int64_t>> times;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    times.emplace_back();
    model::for_each_in_time(job.processes[i].file, [&](model::EventPlace, const trace::Record& record) {
      if (trace::operation_of(record.call) == trace::Operation::kStat)
        times.back().push_back(job.begin_ns(i, record));
    });
  }
  for (const auto& own : times) EXPECT_FALSE(own.empty());
  std::int64_t worst = -model::kTimeLimit;
  for (std::uint32_t a = 0; a < times.size(); ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      for (std::size_t k = 0; k < times[a].size(); ++k)
        worst = std::max(worst, std::abs(times[a][k] - times[b][k]) - job.clock_error_between(a, b));
  return worst;
}

TEST(HostClocks, AreWithinTheBoundAtAnyNumberOfHostsAndRanks) {
  for (Shape shape : {Shape{2, 1, 200}, Shape{2, 4, 100}, Shape{3, 2, 100}, Shape{8, 2, 100}})
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      model::Job job = aligned(JobText(shape, seed).text());
      SCOPED_TRACE(fmt::format("{} hosts, {} ranks each, seed {}", shape.hosts, shape.ranks_per_host, seed));
      EXPECT_LE(worst_excess(job), 0);
      EXPECT_LT(job.clock_error_ns, 10'000'000);  // and better than wall clocks would be trusted
      for (const model::Host& host : job.hosts) EXPECT_EQ(host.alignment, Alignment::kSteady);
    }
}

TEST(HostClocks, AreWithinTheBoundBesideAStraggler) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    model::Job job = aligned(JobText({3, 2, 60, 0.1, 0.005}, seed).text());
    EXPECT_LE(worst_excess(job), 0);
    EXPECT_LT(job.clock_error_ns, model::kUnaligned);
  }
}

TEST(HostClocks, AreWithinTheBoundAfterFewCollectives) {
  for (int steps : {0, 1, 3})
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      model::Job job = aligned(JobText({3, 2, steps, 2.0}, seed).text());
      EXPECT_LE(worst_excess(job), 0) << steps << " collectives, seed " << seed;
      EXPECT_LT(job.clock_error_ns, model::kUnaligned);
    }
}

// Then only the making of the communicator tells.
TEST(HostClocks, AreWithinTheBoundIfTheHostNeverWaits) {
  model::Job job = aligned(JobText({2, 2, 50, 0.1, 0, false}, 1).text());
  EXPECT_LE(worst_excess(job), 0);
  EXPECT_GT(job.clock_error_ns, 1'000'000);  // some seconds at an unknown rate
  EXPECT_LT(job.clock_error_ns, model::kUnaligned);
}

TEST(HostClocks, WithoutACommonCollectiveAreNotAligned) {
  model::Job job = aligned(R"(
host a
host b monotonic=5 realtime=0.3
process r0 host=a rank=0 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
process r1 host=b rank=1 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
r0,r1 1.0 +0.001 stat path=x
)");
  EXPECT_EQ(job.clock_error_ns, model::kUnaligned);
  EXPECT_EQ(job.clock_error_between(0, 1), model::kUnaligned);
  for (const model::Host& host : job.hosts) EXPECT_EQ(host.alignment, Alignment::kNoExchange);
}

// Collectives that differ met no one: what they say would be a guess.
TEST(HostClocks, OfRanksThatCallDifferentThingsAreNotAligned) {
  model::Job job = aligned(R"(
host a
host b monotonic=5
process r0 host=a rank=0 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
process r1 host=b rank=1 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
r0 0.1 inside ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
r1 0.1 inside ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
r0 1.0 +0.001 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7
r0 1.1 +0.001 cudaStreamSynchronize stream=0x7
r1 5.0 +0.001 ncclAllReduce communicator=1 count=2 datatype=f32 stream=0x7
r1 5.1 +0.001 cudaStreamSynchronize stream=0x7
)");
  EXPECT_EQ(job.clock_error_ns, model::kUnaligned);
}

TEST(HostClocks, AreAlignedByConnectionsToo) {
  std::string text = R"(
host a monotonic=-0.7 realtime=0.4 drift=60
host b monotonic=0.9 realtime=-0.5 drift=-80
process r0 host=a rank=0 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
process r1 host=b rank=1 world=2 until=9 MASTER_ADDR=a MASTER_PORT=1
r0 0.200 +0.010 connect inode=11 local="10.0.0.1:5000" peer="10.0.0.2:4000"
r1 0.100 +0.150 accept inode=22 local="10.0.0.2:4000" peer="10.0.0.1:5000"
)";
  for (int i = 0; i < 80; ++i) {
    double at = 0.5 + i * 0.1;
    text += fmt::format("r0 {:.6f} +0.000020 send inode=11 bytes=64 offset={}\n", at, 64 * i);
    text += fmt::format("r1 {:.6f} +0.000300 recv inode=22 bytes=64 offset={}\n", at, 64 * i);
    text += fmt::format("r1 {:.6f} +0.000020 send inode=22 bytes=64 offset={}\n", at + 0.001, 64 * i);
    text += fmt::format("r0 {:.6f} +0.000300 recv inode=11 bytes=64 offset={}\n", at + 0.001, 64 * i);
  }
  for (double at : {0.05, 4.0, 8.9}) text += fmt::format("r0,r1 {} +0.001 stat path=x\n", at);
  model::Job job = aligned(text);
  EXPECT_LE(worst_excess(job), 0);
  EXPECT_LT(job.clock_error_ns, 2'000'000);
}

TEST(HostClocks, OfOneHostAreLeftAlone) {
  model::Job job = aligned(JobText({1, 2, 3}, 1).text());
  EXPECT_EQ(job.clock_error_ns, 0);
  EXPECT_TRUE(job.hosts.front().pieces.empty());
  EXPECT_EQ(worst_excess(job), 0);
}

}  // namespace
}  // namespace ddpscope::alignment
