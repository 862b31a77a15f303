// What the lanes show of a finding: golden traces, opened at what a stranger has to see.
#include <algorithm>

#include "tests/gui/app_fixture.h"

namespace ddpscope::viewer {
namespace {

class StoryTest : public AppTest {
 protected:
  const Story& story_of(const std::string& trace, int ranks = 4) {
    open(tests::golden(trace, ranks));
    settle();
    return app_->story();
  }
};

TEST_F(StoryTest, ARaceForAFileIsInViewNotWhatBecameOfAnother) {
  open(tests::golden("checkpoint-race/speaks-all-rename", 4) +
       "r0 4.000 +0.001 rename path=\"/ckpt/tmp-2\" target=\"/ckpt/2\" stack=\"trainer.py:88 save_checkpoint "
       "< "
       "trainer.py:50 train\"\n"
       "r3 4.500 +0.001 rename path=\"/ckpt/tmp-2\" target=\"/ckpt/2\" error=ENOENT stack=\"trainer.py:88 "
       "save_checkpoint < trainer.py:50 train\"\n");
  settle();
  const Story& story = app_->story();
  ASSERT_EQ(story.lane, StoryLane::kFile);
  EXPECT_EQ(story.file, "/ckpt/tmp-1");
  EXPECT_GE(story.focus.from_ns, 900'000'000);
  EXPECT_LE(story.focus.to_ns, 1'200'000'000);
  // What each rank does is told beside the disc that says it.
  ASSERT_EQ(story.lines.size(), 4u);
  for (const FileLine& line : story.lines) {
    ASSERT_LT(line.disc, story.discs.size());
    EXPECT_EQ(story.discs[line.disc].rank_row, line.rank_row);
    EXPECT_TRUE(line.does.starts_with(line.rank_row == 3 ? "renames" : "fails")) << line.does;
  }
}

}  // namespace
}  // namespace ddpscope::viewer
