// What communicators are called.
#include "collector/matching/communicator_name.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/collector/recorded.h"

namespace ddpscope::matching {
namespace {

TEST(CommunicatorName, OfSeveralThatHoldAllRanksEachHasItsOwn) {
  tests::Recorded trace(R"(
process a pid=10 rank=0 world=2
process b pid=11 rank=1 world=2
a 0.1 +0.1 ncclCommInitRank communicator=1 id=0xa rank=0 size=2
b 0.1 +0.1 ncclCommInitRank communicator=1 id=0xa rank=1 size=2
a 0.3 +0.1 ncclCommInitRank communicator=2 id=0xb rank=0 size=2
b 0.3 +0.1 ncclCommInitRank communicator=2 id=0xb rank=1 size=2
b 0.5 +0.1 ncclCommInitRank communicator=3 id=0xc rank=0 size=1
a 0.7 +0.1 ncclCommInitRank communicator=3 id=0xd rank=0 size=2
b 0.7 +0.1 ncclCommInitRank communicator=4 id=0xd rank=1 size=2
)");
  auto reading = trace.read();
  ASSERT_TRUE(reading.ok());
  Collectives collectives = find_collectives(reading->job);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < collectives.communicators.size(); ++i)
    names.push_back(name_of(reading->job, collectives, i));
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 4u);
  EXPECT_TRUE(names[0].starts_with("communicator ") && names[0].ends_with(": rank 1")) << names[0];
  EXPECT_EQ((std::vector<std::string>{names.begin() + 1, names.end()}),
            (std::vector<std::string>{"world", "world 2", "world 3"}));
}

}  // namespace
}  // namespace ddpscope::matching
