// The table of what threads released: room for what real programs lock, and who goes when a set is full.
#include "injector/threads/releases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace ddpscope::injector {
namespace {

class ReleasesTest : public testing::Test {
 protected:
  void SetUp() override { forget_all_releases(); }

  // Addresses as mutexes have them that programs allocate.
  std::vector<std::uint64_t> keys(std::size_t count, std::uint32_t seed) {
    std::mt19937_64 random(seed);
    std::set<std::uint64_t> addresses;
    while (addresses.size() < count) addresses.insert((random() & 0x7FFF'FFFF'FFF0) | 0x10);
    std::vector<std::uint64_t> keys;
    for (std::uint64_t address : addresses) keys.push_back(key_of(reinterpret_cast<void*>(address)));
    std::shuffle(keys.begin(), keys.end(), random);
    return keys;
  }

  // So many that share their set with each other.
  std::vector<std::uint64_t> keys_of_one_set(std::size_t count) {
    std::vector<std::uint64_t> found;
    Releases* first = nullptr;
    for (std::uint64_t address = 0x10; found.size() < count; address += 0x10) {
      std::uint64_t key = key_of(reinterpret_cast<void*>(address));
      if (!first) first = place_in_set(home_of(key), 0);
      for (std::size_t way = 0; way < kWays; ++way)
        if (place_in_set(home_of(key), way) == first) found.push_back(key);
    }
    return found;
  }
};

TEST_F(ReleasesTest, AThousandObjectsForgetNothing) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    forget_all_releases();
    std::vector<std::uint64_t> all = keys(1000, seed);
    for (std::uint64_t key : all) {
      Claim claim = claim_releases(key, 1);
      ASSERT_TRUE(claim.releases);
      EXPECT_FALSE(claim.object_lost) << "seed " << seed;
      publish(*claim.releases, claim.lane, seed);
    }
    for (std::uint64_t key : all) EXPECT_TRUE(find_releases(key)) << "seed " << seed;
  }
}

TEST_F(ReleasesTest, AFullSetForgetsWhatHasBeenSilentForLongest) {
  std::vector<std::uint64_t> all = keys_of_one_set(kWays + 1);
  for (std::size_t i = 0; i < kWays; ++i) {
    Claim claim = claim_releases(all[i], 1);
    publish(*claim.releases, claim.lane, i == 1 ? 5 : 10 + i);
  }
  Claim last = claim_releases(all.back(), 1);
  EXPECT_TRUE(last.object_lost);
  EXPECT_EQ(find_releases(all.back()), last.releases);
  for (std::size_t i = 0; i < kWays; ++i) EXPECT_EQ(find_releases(all[i]) == nullptr, i == 1) << i;
}

TEST_F(ReleasesTest, AnObjectThatIsGoneMakesRoom) {
  std::vector<std::uint64_t> all = keys_of_one_set(kWays + 1);
  for (std::size_t i = 0; i < kWays; ++i) {
    Claim claim = claim_releases(all[i], 1);
    publish(*claim.releases, claim.lane, 10 + i);
  }
  forget_releases(reinterpret_cast<void*>(all[kWays - 1] ^ release_epoch));
  EXPECT_FALSE(claim_releases(all.back(), 1).object_lost);
  for (std::size_t i = 0; i + 1 < kWays; ++i) EXPECT_TRUE(find_releases(all[i])) << i;
}

TEST_F(ReleasesTest, AChildKnowsNothingOfItsParentsReleases) {
  int object = 0;
  claim_releases(key_of(&object), 1);
  forget_all_releases();
  EXPECT_FALSE(find_releases(key_of(&object)));
  EXPECT_FALSE(claim_releases(key_of(&object), 1).object_lost);
}

}  // namespace
}  // namespace ddpscope::injector
