// Glyphs that mark moments keep apart, the worst leftmost.
#include "viewer/view/glyph_row.h"

#include <gtest/gtest.h>

namespace ddpscope::viewer {
namespace {

TEST(GlyphRowTest, AloneTheyStandWhereTheyBelong) {
  auto placed = placed_glyphs({{50, 1, 1}, {10, 2, 0}}, 10);
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[0].x, 10);
  EXPECT_EQ(placed[0].item, 0u);
  EXPECT_EQ(placed[1].x, 50);
}

TEST(GlyphRowTest, ThoseThatCollideShiftAndTheWorstIsLeftmost) {
  auto placed = placed_glyphs({{10, 1, 7}, {12, 3, 8}, {15, 2, 9}}, 10);
  ASSERT_EQ(placed.size(), 3u);
  EXPECT_EQ(placed[0].item, 8u);
  EXPECT_EQ(placed[1].item, 9u);
  EXPECT_EQ(placed[2].item, 7u);
  EXPECT_EQ(placed[0].x, 10);
  EXPECT_EQ(placed[1].x, 20);
  EXPECT_EQ(placed[2].x, 30);
  EXPECT_EQ(placed[2].true_x, 10);
}

TEST(GlyphRowTest, FromFourOnOneStandsForAll) {
  auto placed = placed_glyphs({{10, 1, 0}, {12, 1, 1}, {14, 3, 2}, {16, 1, 3}, {100, 1, 4}}, 10);
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[0].count, 4u);
  EXPECT_EQ(placed[0].item, 2u);
  EXPECT_EQ(placed[0].x, 14);  // at the worst one's moment
  EXPECT_EQ(placed[1].count, 1u);
}

TEST(GlyphRowTest, AShiftedClusterDoesNotCoverTheNext) {
  auto placed = placed_glyphs({{10, 1, 0}, {11, 1, 1}, {22, 1, 2}}, 10);
  ASSERT_EQ(placed.size(), 3u);
  for (std::size_t i = 1; i < placed.size(); ++i) EXPECT_GE(placed[i].x - placed[i - 1].x, 10);
}

}  // namespace
}  // namespace ddpscope::viewer
