// Collectives of which the earlier ones were not read: members are compared from the first number known of
// all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collector/alignment/align.h"
#include "collector/matching/collectives.h"
#include "collector/matching/group_collectives.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::matching {
namespace {

using tests::Recorded;

constexpr int kMany = 90'000;  // records of 64 bytes: more than the latest part has room for

struct Latest {
  std::unique_ptr<Recorded> trace;
  reading::Reading reading;
  Collectives collectives;

  const Member& member(std::size_t index) const { return collectives.communicators[0].members[index]; }
  // Elements, by which the tests tell the calls.
  std::uint64_t count_at(std::size_t index, std::size_t ordinal) const {
    return collectives.call_at(member(index), ordinal).signature.count;
  }
};

// NCCL's communicators, or PyTorch's process groups on Gloo.
struct Kind {
  const char* name;
  const char* making;
  const char* all_reduce;
  const char* send;
  const char* of_call;
  Collectives (*find)(const model::Job&);
};
constexpr Kind kKinds[] = {
    {"nccl", "ncclCommInitRank communicator=1 id=0xabc", "ncclAllReduce", "ncclSend", "stream=0x5",
     find_collectives},
    {"groups", "c10d_group communicator=1 id=0xabc name=\"default_pg/0\" backend=\"gloo\"", "c10d_allreduce",
     "c10d_send", "reduction=sum", find_group_collectives}};

std::string member_text(const Kind& kind, char name, int rank, int calls, const char* first_call) {
  std::string text = fmt::format("{} 0.1 +0.1 {} rank={} size=2\n", name, kind.making, rank);
  text += fmt::format("{} 0.3 +0.00001 {} communicator=1 count=1 datatype=f32 {}\n", name, first_call,
                      kind.of_call);
  // Counts differ, so that a call is told from its neighbours.
  for (int i = 1; i < calls; ++i)
    text += fmt::format("{} {:.5f} +0.000001 {} communicator=1 count={} datatype=f32 {}\n", name,
                        0.4 + i * 1e-5, kind.all_reduce, i + 1, kind.of_call);
  return text;
}

Latest read(const Kind& kind, int calls_of_a, int calls_of_b, const char* first_call) {
  std::string text = "process a pid=10 rank=0 world=2\nprocess b pid=11 rank=1 world=2\n";
  text +=
      member_text(kind, 'a', 0, calls_of_a, first_call) + member_text(kind, 'b', 1, calls_of_b, first_call);
  Latest latest{std::make_unique<Recorded>(text), {}, {}};
  reading::Silent progress;
  auto reading = reading::read_trace(latest.trace->folder(), progress, -1, trace::Extent::kLatest);
  if (!reading) throw std::runtime_error(reading.error().what);
  latest.reading = std::move(*reading);
  alignment::align(latest.reading.job);
  latest.collectives = kind.find(latest.reading.job);
  return latest;
}
Latest read(const Kind& kind, int calls_of_a, int calls_of_b) {
  return read(kind, calls_of_a, calls_of_b, kind.all_reduce);
}

class LatestCalls : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Of, LatestCalls, testing::ValuesIn(kKinds),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(LatestCalls, AllOfAShortTraceCount) {
  Latest latest = read(GetParam(), 100, 99);
  EXPECT_EQ(latest.member(0).calls.size(), 100u);
  EXPECT_EQ(latest.member(1).calls.size(), 99u);
}

TEST_P(LatestCalls, MembersBeginTogether) {
  Latest latest = read(GetParam(), kMany, kMany - 1);
  ASSERT_LT(latest.member(0).calls.size(), static_cast<std::size_t>(kMany));
  EXPECT_FALSE(latest.member(0).incomplete);
  EXPECT_FALSE(latest.member(1).incomplete);
  EXPECT_EQ(latest.member(0).calls.size(), latest.member(1).calls.size() + 1);
  EXPECT_GT(latest.count_at(0, 0), 1u);
  for (std::size_t i : {std::size_t{0}, latest.member(1).calls.size() / 2, latest.member(1).calls.size() - 1})
    EXPECT_EQ(latest.count_at(0, i), latest.count_at(1, i));
}

TEST_P(LatestCalls, OneLongAndOneShortMember) {
  Latest latest = read(GetParam(), kMany, 1000);
  EXPECT_TRUE(latest.member(0).incomplete || latest.member(1).calls.empty())
      << "no number is known of both: nothing is compared";
}

TEST_P(LatestCalls, SendsAreNumberedToo) {
  Latest latest = read(GetParam(), kMany, kMany - 1, GetParam().send);
  EXPECT_TRUE(latest.member(0).incomplete);
  EXPECT_TRUE(latest.member(1).incomplete);
}

}  // namespace
}  // namespace ddpscope::matching
