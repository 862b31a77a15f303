// Samples that ranks read, where no copies to devices tell batches.
#include <set>

#include "tests/gui/app_fixture.h"

namespace ddpscope::viewer {
namespace {

class SamplesTest : public AppTest {
 protected:
  const Story& story_of(const std::string& trace, int ranks) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    open(tests::golden("unsharded-sampler/" + trace, ranks));
    settle();
    return app_->story();
  }
};

std::vector<std::string> names_on(const Story& story, std::size_t line) {
  std::vector<std::string> names;
  for (const StoryAccess& access : story.lines.at(line).accesses)
    names.push_back(story.sample_names.at(access.digest));
  return names;
}

TEST_F(SamplesTest, OfOnePlaceStandBelowEachOtherWithTheirNames) {
  for (int ranks : {2, 4, 8}) {
    const Story& story = story_of("speaks-passes", ranks);
    ASSERT_EQ(story.lane, StoryLane::kBatches);
    ASSERT_EQ(story.lines.size(), static_cast<std::size_t>(std::min(ranks, 4)));
    std::vector<std::string> first = names_on(story, 0);
    ASSERT_GE(first.size(), 5u);
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
    for (const std::string& name : first) EXPECT_TRUE(name.starts_with("train.bin")) << name;
    for (std::size_t line = 1; line < story.lines.size(); ++line) {
      EXPECT_EQ(names_on(story, line), first);
      for (std::size_t k = 0; k < first.size(); ++k)
        EXPECT_EQ(story.lines[line].accesses[k].begin_ns, story.lines[0].accesses[k].begin_ns);
    }
    for (const StoryDisc& disc : story.discs)
      EXPECT_TRUE(story.focus.contains(disc.drawn_ns())) << disc.number;
  }
}

// What is opened, read, found to be at its end and closed is one sample, by the name of its file.
TEST_F(SamplesTest, AFileIsOneHoweverOftenItIsRead) {
  std::string text = tests::golden("unsharded-sampler/speaks-passes", 2);
  std::string read =
      "w$r 1.0000 +0.0001 pread file=1 offset=${(k * 37 % 101) * 1000} bytes=48 next=${(k * 37 % 101) * 1000 "
      "+ 48}\n";
  std::string file = "${(k * 37 % 101) + 2}";
  std::size_t at = text.find(read);
  ASSERT_NE(at, std::string::npos);
  text.replace(
      at, read.size(),
      "w$r 1.0000 +0.00002 open path=\"/data/wavs/clip${(k * 37 % 101)}.raw\" flags=rdonly file=" + file +
          " stack=\"data.py:12 __getitem__\"\n"
          "w$r 1.0001 +0.00002 read file=" +
          file +
          " bytes=100 next=100\n"
          "w$r 1.0002 +0.00002 read file=" +
          file +
          " offset=100 bytes=50 next=150\n"
          "w$r 1.0003 +0.00002 read file=" +
          file +
          " offset=150 bytes=0 next=150\n"
          "w$r 1.0004 +0.00002 close file=" +
          file + "\n");
  open(text);
  settle();
  ASSERT_EQ(app_->reader().outcome().findings.at(0).slug, "unsharded-sampler");
  ASSERT_EQ(app_->story().lines.size(), 2u);
  std::vector<std::string> names = names_on(app_->story(), 0);
  EXPECT_EQ(names, names_on(app_->story(), 1));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names)
    EXPECT_TRUE(name.starts_with("clip") && name.ends_with(".raw")) << name;
}

TEST_F(SamplesTest, WhereCopiesTellBatchesTheseAreShown) {
  const Story& story = story_of("speaks-batches-later-epochs", 2);
  EXPECT_EQ(story.lane, StoryLane::kBatches);
  EXPECT_TRUE(story.sample_names.empty());
  for (const StoryDisc& disc : story.discs) EXPECT_TRUE(story.focus.contains(disc.t_ns)) << disc.number;
}

}  // namespace
}  // namespace ddpscope::viewer
