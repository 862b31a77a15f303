// Which communicators carry gradients.
#include "collector/patterns/data_parallel_groups.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::patterns {
namespace {

// Ranks of each group, of a job of two ranks that both run these steps.
std::vector<std::map<std::int32_t, Reductions>> find_groups(const std::string& steps) {
  tests::Recorded trace(R"(
let input = cudaMemcpyAsync kind=h2d bytes=64K stream=0x5
let layers = cudaLaunchKernel name="layer" stream=0x5 count=10
let optimizer = cudaLaunchKernel name="adamw_kernel" stream=0x5
let gradients = ncclAllReduce communicator=1 count=250000 datatype=f32 stream=0x7 buffer=0x200
let activations = ncclAllReduce communicator=2 count=8192 datatype=f32 stream=0x7 buffer=0x300
for r in 0..1 {
  process r$r rank=$r world=2 until=9
  r$r 0.100 +0.010 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  r$r 0.200 +0.010 ncclCommInitRank communicator=2 id=0xdef rank=$r size=2 device=$r
)" + steps + "}\n");
  auto reading = trace.read();
  if (!reading) return {};
  alignment::align(reading->job);
  auto collectives = matching::find_collectives(reading->job);
  std::vector<std::map<std::int32_t, Reductions>> groups;
  model::Lazy<ReductionHabits> habits([&] { return find_reduction_habits(reading->job, collectives); });
  model::Lazy<std::vector<FrameworkSteps>> none([] { return std::vector<FrameworkSteps>{}; });
  for (auto& group : find_data_parallel_groups(reading->job, collectives, habits, none))
    groups.push_back(std::move(group.of_rank));
  return groups;
}

constexpr const char* kGradientsOnly = R"(
  for step in 0..1004 every 0.0010 {
    r$r 1.0000 +0.00001 $input
    r$r 1.0001 +0.00001 $layers
    r$r 1.0002 +0.00001 $gradients
    r$r 1.0003 +0.00001 $optimizer
  }
)";
constexpr const char* kWithActivations = R"(
  for step in 0..9 every 0.0100 {
    r$r 3.0000 +0.00001 $input
    r$r 3.0010 +0.00001 $activations
    r$r 3.0020 +0.00001 $layers
    r$r 3.0030 +0.00001 $gradients
    r$r 3.0040 +0.00001 $optimizer
  }
)";

TEST(DataParallelGroups, CommunicatorsOfActivationsAreLeftOut) {
  EXPECT_EQ(find_groups(kGradientsOnly).size(), 1u);
  EXPECT_EQ(find_groups(kWithActivations).size(), 1u);
}

// A part of a long training tells what a communicator carries, but only if that is used in it.
TEST(DataParallelGroups, AlsoIfTheyAreUsedOnlyAfterManySteps) {
  EXPECT_EQ(find_groups(std::string(kGradientsOnly) + kWithActivations).size(), 1u);
}

}  // namespace
}  // namespace ddpscope::patterns
