// The stated cost of redundant reductions, on jobs whose host calls and waits are timed as a machine with
// kernels and a link of known speed would time them, with and without the redundant ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "collector/analysis/analyze.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::tests {
namespace {

constexpr int kSteps = 8;
constexpr int kForward = 20, kBackward = 20;  // kernels, the latter of each of two buckets
constexpr double kSmall_us = 50;              // that a small operation takes on the link
constexpr double kBytes[] = {400'000, 100'000};

// Times are microseconds.
struct Job {
  const char* name;
  int micro_batches;
  double kernel_us;
  double us_per_byte;
  double launch_us = 2;         // of the host
  double load_us = 100;         // of the host, a micro-batch
  double late_us = 0;           // more of it on one rank: the last
  bool waits_for_sets = false;  // the host does, after each
  int steps_a_wait = 1;         // for the loss
  bool by_turns = false;        // or another one in each micro-batch
  double queue_us = 1e6;        // of kernels; a launch for which there is no room waits
};

// The device is never idle for want of launches, but in the last: there the host is what takes the time.
const Job kJobs[] = {
    {"exposed", 4, 20, 0.002},
    {"two_micro_batches", 2, 20, 0.002},
    {"nearly_hidden", 4, 40, 0.0008},
    {"slow_link", 4, 5, 0.02},
    {"a_late_rank", 4, 20, 0.002, 2, 100, 300},
    {"late_by_turns", 4, 20, 0.002, 2, 100, 4000, true, 1, true},
    {"awaited_by_the_host", 4, 20, 0.002, 2, 500, 0, true},
    {"seldom_awaited", 4, 20, 0.002, 2, 100, 0, false, 2},
    {"full_queue", 4, 20, 0.002, 2, 100, 0, false, 1, false, 300},
    {"slow_host", 4, 5, 0.0005, 40},
};

class Machine {
 public:
  Machine(const Job& job, int ranks, bool fixed)
      : job_(job), ranks_(ranks), fixed_(fixed), hosts_(ranks, kStart_us), compute_(ranks, kStart_us) {}

  // Returns the length of a step.
  double run() {
    join();
    for (int step = 0; step < kSteps; ++step) train(step);
    return (*std::max_element(hosts_.begin(), hosts_.end()) - kStart_us) / kSteps;
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr double kStart_us = 5e6, kBetween_us = 0.1;

  // Calls that the host only makes: they take `us`.
  void call(int rank, double us, const std::string& what) {
    say(rank, us, what);
    hosts_[rank] += us + kBetween_us;
  }
  void say(int rank, double us, const std::string& what) {
    fmt::format_to(std::back_inserter(text_), "r{} {:.9f} +{:.9f} {}\n", rank, hosts_[rank] * 1e-6, us * 1e-6,
                   what);
  }
  void wait(int rank, double until_us, const char* stream) {
    say(rank, std::max(0.0, until_us - hosts_[rank]), fmt::format("cudaStreamSynchronize stream={}", stream));
    hosts_[rank] = std::max(hosts_[rank], until_us);
  }
  void launch(int rank, int kernels, const char* name) {
    double begin_us = hosts_[rank];
    double room_us = compute_[rank] - job_.queue_us - begin_us;
    call(rank, std::max(kernels * job_.launch_us, room_us),
         fmt::format("cudaLaunchKernel name=\"{}\" stream=0x5 count={}", name, kernels));
    compute_[rank] = std::max(std::max(compute_[rank], begin_us) + kernels * job_.kernel_us,
                              hosts_[rank] + job_.kernel_us);
  }

  void join() {
    double large_us = kSmall_us + 1e6 * job_.us_per_byte;
    for (int r = 0; r < ranks_; ++r) {
      fmt::format_to(std::back_inserter(text_), R"(
process r{0} rank={0} world={1} until=9
r{0} 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank={0} size={1} device={0}
r{0} 1.000000000 +0 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7
r{0} 1.000000001 +{2:.9f} cudaStreamSynchronize stream=0x7
r{0} 2.000000000 +0 ncclBroadcast communicator=1 peer=0 count=250000 datatype=f32 stream=0x7
r{0} 2.000000001 +{3:.9f} cudaStreamSynchronize stream=0x7
)",
                     r, ranks_, kSmall_us * 1e-6, large_us * 1e-6);
    }
  }

  void reduce(int bucket) {
    for (int r = 0; r < ranks_; ++r) {
      call(r, 1, fmt::format("cudaEventRecord stream=0x5 event={}", 0x10 + bucket));
      call(r, 1, fmt::format("cudaStreamWaitEvent stream=0x7 event={}", 0x10 + bucket));
      call(r, 1,
           fmt::format("ncclAllReduce communicator=1 count={} datatype=f32 reduction=avg stream=0x7 "
                       "buffer={} stack=\"ddp.py:5 reduce\"",
                       kBytes[bucket] / 4, 0x200 + bucket));
    }
    for (int r = 0; r < ranks_; ++r) link_ = std::max({link_, compute_[r], hosts_[r]});
    link_ += kSmall_us + kBytes[bucket] * 2 * (ranks_ - 1) / ranks_ * job_.us_per_byte;
  }

  void train_micro_batch(bool reduces) {
    int late = job_.by_turns ? micro_batch_++ % ranks_ : ranks_ - 1;
    for (int r = 0; r < ranks_; ++r) {
      hosts_[r] += job_.load_us + (r == late ? job_.late_us : 0);
      call(r, 5, "cudaMemcpyAsync kind=h2d bytes=64K stream=0x5");
      launch(r, kForward, "forward");
    }
    for (int bucket = 0; bucket < 2; ++bucket) {
      for (int r = 0; r < ranks_; ++r) launch(r, kBackward, "backward");
      if (reduces) reduce(bucket);
    }
    for (int r = 0; reduces && r < ranks_; ++r) {
      call(r, 1, "cudaEventRecord stream=0x7 event=0x20");
      call(r, 1, "cudaStreamWaitEvent stream=0x5 event=0x20");
      compute_[r] = std::max(compute_[r], link_);
      if (job_.waits_for_sets) wait(r, link_, "0x7");
    }
  }

  void train(int step) {
    for (int k = 0; k < job_.micro_batches; ++k) train_micro_batch(!fixed_ || k + 1 == job_.micro_batches);
    for (int r = 0; r < ranks_; ++r) {
      launch(r, 1, "adamw_kernel");
      if ((step + 1) % job_.steps_a_wait == 0) wait(r, compute_[r], "0x5");
    }
  }

  const Job& job_;
  int ranks_;
  bool fixed_;
  std::vector<double> hosts_, compute_;  // until when they are busy
  double link_ = 0;
  int micro_batch_ = 0;
  std::string text_;
};

class AccumulationCost : public testing::TestWithParam<std::tuple<Job, int>> {};

TEST_P(AccumulationCost, IsWhatTheFixSaves) {
  const auto& [job, ranks] = GetParam();
  Machine faulty(job, ranks, false), fixed(job, ranks, true);
  double step_us = faulty.run(), gain_us = step_us - fixed.run();
  Recorded trace(faulty.text());
  reading::Silent progress;
  auto analysis = analysis::analyze(trace.folder(), {"redundant-accumulation-sync"}, progress);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  ASSERT_EQ(analysis->outcome.findings.size(), 1u);
  const findings::Finding& finding = analysis->outcome.findings.front();
  EXPECT_EQ(finding.ranks.size(), static_cast<std::size_t>(ranks));
  EXPECT_NEAR(finding.cost.ms_per_step * 1e3, gain_us, 0.15 * gain_us + 0.005 * step_us)
      << "of " << step_us << " us a step";
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<Job, int>>& info) {
  return fmt::format("{}_at_{}", std::get<0>(info.param).name, std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Jobs, AccumulationCost,
                         testing::Combine(testing::ValuesIn(kJobs), testing::Values(2, 4, 8, 64)),
                         name_of_case);

}  // namespace
}  // namespace ddpscope::tests
