// What the story of ranks that part ways says of the calls in which they do.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "collector/analysis/analyze.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::detectors {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kRanks = 4;

// Rank 3 reduces fewer values than its peers. Every host waits, until the watchdogs give up.
std::string job(const std::string& of_each) {
  std::string text;
  for (int r = 0; r < kRanks; ++r)
    text += fmt::format(
        "process r{0} rank={0} world={1} until=20\n"
        "r{0} 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank={0} size={1}\n"
        "r{0} 1.0 +0.001 ncclAllReduce communicator=1 count={2} datatype=f32 stream=0x7 sequence=0\n"
        "r{0} 1.1 +0 device_clock error_ns=10000\n{3}",
        r, kRanks, r == 3 ? 500 : 1000, fmt::format(fmt::runtime(of_each), fmt::arg("r", r)));
  return text;
}

std::vector<std::string> details_of(const std::string& text, std::string_view slug) {
  tests::Recorded recorded(text);
  reading::Silent progress;
  auto analysis = analysis::analyze(recorded.folder(), {}, progress);
  std::vector<std::string> details;
  if (!analysis.ok()) return details;
  for (const findings::Finding& finding : analysis->outcome.findings)
    for (const findings::Evidence& evidence : finding.evidence)
      if (finding.slug == slug) details.push_back(evidence.detail);
  return details;
}

constexpr const char* kWaits =
    "r{r} 1.1 +10 cudaStreamSynchronize stream=0x7\n"
    "r{r}/2 11.0 +0.05 ncclCommAbort communicator=1\n";

std::vector<std::string> details(const std::string& of_each) {
  return details_of(job(kWaits + of_each), "mismatched-collective");
}

const auto kNotSeen = HasSubstr("not seen to complete: the host waits from 1.100 s on");

TEST(DivergenceStory, WhatNoDeviceTimeTellsOfIsNotSeenToComplete) {
  EXPECT_THAT(details(""), Contains(kNotSeen).Times(kRanks));
}

TEST(DivergenceStory, WhatTheDeviceWasDoneWithInTimeIsComplete) {
  EXPECT_THAT(details("r{r} 1.001 +0.5 gpu kind=collective communicator=1 sequence=0\n"),
              AllOf(SizeIs(kRanks), Not(Contains(HasSubstr("not seen")))));
}

TEST(DivergenceStory, WhatAnAbortEndedOnTheDeviceIsNot) {
  EXPECT_THAT(details("r{r} 1.001 +10.01 gpu kind=collective communicator=1 sequence=0\n"),
              Contains(kNotSeen).Times(kRanks));
  EXPECT_THAT(details("r{r} 1.001 +9.998995 gpu kind=collective communicator=1 sequence=0\n"),
              Contains(kNotSeen).Times(kRanks))
      << "the device's clock is not better than that";
}

TEST(DivergenceStory, WhatAnAbortOfAnotherCommunicatorMayHaveEndedIsNot) {
  EXPECT_THAT(details("r{r} 0.3 +0.1 ncclCommInitRank communicator=2 id=0xdef rank={r} size=4\n"
                      "r{r}/2 1.4 +0.05 ncclCommAbort communicator=2\n"
                      "r{r} 1.001 +0.5 gpu kind=collective communicator=1 sequence=0\n"),
              Contains(kNotSeen).Times(kRanks));
}

// The trace of one rank stops while its peers' devices are not done.
TEST(DivergenceStory, WhatTheEndOfAPeerMayHaveEndedIsNot) {
  constexpr const char* kWork =
      "r{r} 1.001 +0.5 gpu kind=collective communicator=1 sequence=0\n"
      "r{r} 1.1 inside cudaStreamSynchronize stream=0x7\n";
  std::string text = job(kWork);
  EXPECT_THAT(details_of(text, "mismatched-collective"), Not(Contains(kNotSeen)));
  text.replace(text.find("until=20"), 8, "until=1.2");
  EXPECT_THAT(details_of(text, "mismatched-collective"), Contains(kNotSeen).Times(kRanks - 1));
}

}  // namespace
}  // namespace ddpscope::detectors
