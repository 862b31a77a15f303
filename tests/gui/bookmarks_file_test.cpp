// The file of bookmarks, in a folder that somebody else may have handed on.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tests/gui/seeded_trace.h"
#include "viewer/app/bookmarks.h"

namespace ddpscope::viewer {
namespace {

namespace fs = std::filesystem;

class BookmarksFileTest : public testing::Test {
 protected:
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(trace_)) names.push_back(entry.path().filename());
    return names;
  }
  void expect_refused() const {
    auto written = write_bookmarks(notes_, all_);
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().what.find("not followed"), std::string::npos) << written.error().what;
    EXPECT_EQ(written.error().where, notes_);
    EXPECT_TRUE(read_bookmarks(notes_).empty());
  }

  tests::TemporaryFolder folder_;
  fs::path trace_ = folder_.path(), notes_ = notes_path(trace_);
  tests::TemporaryFolder elsewhere_;
  fs::path mine_ = elsewhere_.path() / "mine";
  std::vector<Bookmark> all_{{5, -1, ""}, {7, 3, "here\tit stalls"}};
};

TEST_F(BookmarksFileTest, KeepsWhatWasWrittenAndNothingBesideIt) {
  write(notes_, "1\t2\tan earlier one\n");
  ASSERT_TRUE(write_bookmarks(notes_, all_));
  std::vector<Bookmark> read = read_bookmarks(notes_);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].t_ns, 7);
  EXPECT_EQ(read[1].rank, 3);
  EXPECT_EQ(read[1].note, "here\tit stalls");
  EXPECT_EQ(names(), std::vector<std::string>{"ddpscope.notes"});
}

TEST_F(BookmarksFileTest, WritesThroughNoLinkThatLiesInTheTrace) {
  write(mine_, "mine");
  for (const char* name : {"ddpscope.notes.part", ".ddpscope.0", "ddpscope.notes.tmp"})
    fs::create_symlink(mine_, trace_ / name);
  ASSERT_TRUE(write_bookmarks(notes_, all_));
  EXPECT_EQ(text_of(mine_), "mine");
  EXPECT_EQ(read_bookmarks(notes_).size(), 2u);
}

TEST_F(BookmarksFileTest, ALinkInItsPlaceIsNeitherReadNorReplaced) {
  write(mine_, "1\t2\tmine\n");
  fs::create_symlink(mine_, notes_);
  expect_refused();
  EXPECT_EQ(text_of(mine_), "1\t2\tmine\n");
  EXPECT_TRUE(fs::is_symlink(notes_));
}

TEST_F(BookmarksFileTest, ALinkToNowhereMakesNothingThere) {
  fs::create_symlink(mine_, notes_);
  expect_refused();
  EXPECT_FALSE(fs::exists(mine_));
}

TEST_F(BookmarksFileTest, APipeInItsPlaceIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(notes_.c_str(), 0600), 0);
  expect_refused();
}

}  // namespace
}  // namespace ddpscope::viewer
