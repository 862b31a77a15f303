// Whom a hang misses where a live look knows more than the trace: that a process is stopped by a signal.
#include "collector/detectors/hangs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "collector/alignment/align.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::detectors {
namespace {

using ::testing::ElementsAre;

constexpr int kRanks = 4;
constexpr const char* kReduce = "ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7\n";
constexpr const char* kWait = "cudaStreamSynchronize stream=0x7\n";

// Four ranks with a communicator, of a job that somebody looks at after `until_s`.
std::string job(double until_s) {
  std::string text;
  for (int r = 0; r < kRanks; ++r)
    text += fmt::format(
        "process r{0} pid=1{0} rank={0} world={1} until={2}\n"
        "r{0} 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank={0} size={1}\n",
        r, kRanks, until_s);
  return text;
}

// The only hang of the job, while the rank `stopped` is.
Hang hang_of(const std::string& text, std::int32_t stopped) {
  auto reading = tests::Recorded(text).read();
  EXPECT_TRUE(reading.ok()) << reading.error().what;
  model::Job& recorded = reading->job;
  alignment::align(recorded);
  for (model::Process& process : recorded.processes)
    process.life = process.rank == stopped ? model::Life::kStopped : model::Life::kRuns;
  matching::Collectives collectives = matching::find_collectives(recorded);
  matching::Divergences divergences = matching::find_divergences(collectives);
  ordering::DeviceOrder device_order = ordering::find_device_order(recorded, collectives);
  patterns::Rounds rounds(recorded, collectives, device_order);
  CodePlaces places(recorded);
  CallFacts facts{recorded, collectives, divergences, device_order, rounds, places};
  std::vector<Hang> hangs = find_hangs(facts, ordering::StuckWork(recorded, collectives, device_order));
  EXPECT_EQ(hangs.size(), 1u);
  return hangs.empty() ? Hang{} : hangs.front();
}

// Rank 1 has the first step, the others wait for it; the stopped one's part of it has not reached them.
TEST(Hangs, AStoppedRankIsNotHeldByItsPeers) {
  std::string text = job(40);
  for (int r = 0; r < kRanks; ++r)
    text +=
        fmt::format("r{0} 1 +0.001 {1}r{0} 1.002 {2} {3}", r, kReduce, r == 1 ? "+0.01" : "inside", kWait);
  text += fmt::format("r1 1.1 +0.001 {}r1 1.102 inside {}", kReduce, kWait);
  EXPECT_THAT(hang_of(text, 0).absent, ElementsAre(0));
  EXPECT_THAT(hang_of(text, 3).absent, ElementsAre(3));
  EXPECT_THAT(hang_of(text, -1).absent, ElementsAre(0, 2, 3)) << "nothing tells them apart";
}

TEST(Hangs, TheFirstOfItsKindIsWaitedForUnlessARankIsStopped) {
  std::string text = job(6);
  for (int r = 0; r < kRanks; ++r)
    text += fmt::format("r{0} 1 +0.001 {1}r{0} 1.002 inside {2}", r, kReduce, kWait);
  Hang runs = hang_of(text, -1), stopped = hang_of(text, 2);
  EXPECT_FALSE(runs.counts) << "5 s may be needed to make connections";
  EXPECT_TRUE(stopped.counts);
  EXPECT_TRUE(stopped.missing().empty());
  EXPECT_EQ(runs.needed_wait, kLongWait) << "what is waited for longer is judged, not measured";
}

}  // namespace
}  // namespace ddpscope::detectors
