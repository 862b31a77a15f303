// What a listing told is never missed, whatever it is folded to; what it did not tell rarely seems told.
#include "trace/listing.h"

#include <gtest/gtest.h>

#include <string>

namespace ddpscope::trace {
namespace {

std::string shard(unsigned number) { return "train-" + std::to_string(number) + "-of-01024.tar"; }

struct Told {
  ListingBlock blocks[kListingBlocks]{};
  unsigned count;

  explicit Told(unsigned entries) : count(blocks_for(entries)) {
    for (unsigned i = 0; i < entries; ++i) {
      std::uint64_t hash = hash_entry(shard(i));
      add_entry(blocks[block_of(hash, kListingBlocks)], hash);
    }
    fold_blocks(blocks, count);
  }
  bool seems(std::string_view name) const {
    std::uint64_t hash = hash_entry(name);
    return may_hold(blocks[block_of(hash, count)], hash);
  }
};

TEST(Listing, TellsAllThatItWasTold) {
  for (unsigned entries : {0u, 1u, 12u, 13u, 100u, 384u, kListingEntries}) {
    Told told(entries);
    for (unsigned i = 0; i < entries; ++i) EXPECT_TRUE(told.seems(shard(i))) << i << " of " << entries;
  }
}

TEST(Listing, RarelySeemsToTellMore) {
  auto wrong = [](unsigned entries) {
    Told told(entries);
    int seeming = 0;
    for (unsigned i = 0; i < 100'000; ++i) seeming += told.seems(shard(10'000 + i));
    return seeming;
  };
  EXPECT_EQ(wrong(0), 0);
  EXPECT_LT(wrong(12), 250);
  EXPECT_LT(wrong(384), 250);
  EXPECT_LT(wrong(kListingEntries), 9000);
}

TEST(Listing, HashIsPartOfTheFormat) {
  EXPECT_EQ(hash_entry("model.safetensors"), hash_entry("MODEL.safetensors"));
  EXPECT_NE(hash_entry("a"), hash_entry("b"));
  EXPECT_EQ(hash_entry("latest"), 0x4d1a31ccdd2764b3u);
  EXPECT_EQ(hash_entry("step_000100.ckpt"), 0x9cf9fb44e7982d4eu);
}

TEST(Listing, BlocksGoWithTheirEntries) {
  EXPECT_EQ(blocks_for(0), 1u);
  EXPECT_EQ(blocks_for(12), 1u);
  EXPECT_EQ(blocks_for(13), 2u);
  EXPECT_EQ(blocks_for(100), 16u);
  EXPECT_EQ(blocks_for(kListingEntries), kListingBlocks);
}

}  // namespace
}  // namespace ddpscope::trace
