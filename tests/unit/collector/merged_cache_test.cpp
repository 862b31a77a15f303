// Which merged file stands for a trace, and when it is made again.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "collector/merged/make.h"
#include "collector/merged/reader.h"
#include "tests/tools/small_disk.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::merged {
namespace {

namespace fs = std::filesystem;

class MergedCache : public testing::Test {
 protected:
  Made ask(const fs::path& trace) {
    reading::Silent progress;
    auto made = merged_file_of(trace, progress);
    EXPECT_TRUE(made) << made.error().what;
    return made ? *made : Made{};
  }
  std::size_t kept() const {
    auto files = fs::directory_iterator(trace_.folder() / ".ddpscope-cache");
    return static_cast<std::size_t>(std::distance(files, fs::directory_iterator()));
  }
  tests::Recorded trace_{tests::kTwoRanks};
};

TEST_F(MergedCache, IsMadeOnceWhileTheTraceStaysTheSame) {
  Made first = ask(trace_.folder());
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(is_merged_file(first.file));
  Made second = ask(trace_.folder());
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.file, first.file);
  EXPECT_EQ(kept(), 1u);
}

TEST_F(MergedCache, IsMadeAgainWhenAFileOfTheTraceChanges) {
  Made first = ask(trace_.folder());
  fs::path changed;
  for (const auto& entry : fs::directory_iterator(trace_.folder()))
    if (entry.is_regular_file()) changed = entry.path();
  fs::last_write_time(changed, fs::last_write_time(changed) + std::chrono::seconds(1));
  Made second = ask(trace_.folder());
  EXPECT_FALSE(second.from_cache);
  EXPECT_NE(second.file, first.file);
  EXPECT_EQ(kept(), 1u);  // the earlier one is gone
}

TEST_F(MergedCache, OneThatCannotBeReadIsMadeAgain) {
  Made first = ask(trace_.folder());
  fs::resize_file(first.file, fs::file_size(first.file) / 2);
  Made second = ask(trace_.folder());
  EXPECT_FALSE(second.from_cache);
  EXPECT_TRUE(Reader::open(second.file));
}

TEST_F(MergedCache, AMergedFileStandsForItself) {
  Made made = ask(trace_.folder());
  Made again = ask(made.file);
  EXPECT_EQ(again.file, made.file);
  EXPECT_FALSE(again.from_cache);
}

// In a process of its own, which has 4 KiB beside the trace.
int make_on_a_full_disk(const fs::path& trace, const fs::path& cache) {
  if (!tests::mount_small_disk(trace / ".ddpscope-cache", "size=4k")) return tests::kNotAllowed;
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  reading::Silent progress;
  auto made = merged_file_of(trace, progress);
  if (!made || made->from_cache || made->file.parent_path() != cache / "ddpscope") return __LINE__;
  auto again = merged_file_of(trace, progress);
  if (!again || !again->from_cache || again->file != made->file) return __LINE__;
  fs::remove(made->file);
  ::setenv("XDG_CACHE_HOME", (trace / ".ddpscope-cache").c_str(), 1);
  auto nowhere = merged_file_of(trace, progress);
  if (nowhere || nowhere.error().what.find("No space left") == std::string::npos) return __LINE__;
  return nowhere.error().hint.find("ddpscope export") != std::string::npos ? 0 : __LINE__;
}

TEST_F(MergedCache, LiesInTheUsersCacheIfTheTracesDiskIsFull) {
  fs::create_directory(trace_.folder() / ".ddpscope-cache");
  tests::Recorded other;
  int code = tests::exit_code_of([&] { return make_on_a_full_disk(trace_.folder(), other.folder()); });
  if (code == tests::kNotAllowed) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(code, 0);
}

// A trace from somebody else is no reason to write, remove or open up anything outside it.
class LinkedCache : public MergedCache {
 protected:
  LinkedCache() {
    fs::permissions(elsewhere_.folder(), fs::perms(0755));
    ::setenv("XDG_CACHE_HOME", cache_.folder().c_str(), 1);
  }
  ~LinkedCache() override { ::unsetenv("XDG_CACHE_HOME"); }
  fs::path link() const { return trace_.folder() / ".ddpscope-cache"; }
  tests::Recorded elsewhere_, cache_;
};

TEST_F(LinkedCache, ALinkInTheTraceIsNotFollowed) {
  fs::create_directory_symlink(elsewhere_.folder(), link());
  Made made = ask(trace_.folder());
  EXPECT_EQ(made.file.parent_path(), cache_.folder() / "ddpscope");
  EXPECT_TRUE(fs::is_empty(elsewhere_.folder()));
  EXPECT_EQ(fs::status(elsewhere_.folder()).permissions(), fs::perms(0755));
  EXPECT_TRUE(fs::is_symlink(link()));
  Made again = ask(trace_.folder());
  EXPECT_TRUE(again.from_cache);
  for (const Made& each : {made, again}) {
    ASSERT_EQ(each.warnings.size(), 1u);
    EXPECT_NE(each.warnings[0].what.find("symbolic link"), std::string::npos) << each.warnings[0].what;
    EXPECT_EQ(each.warnings[0].where, link());
  }
}

TEST_F(LinkedCache, WithNoOtherPlaceTheLinkIsTold) {
  fs::create_directory_symlink(elsewhere_.folder(), link());
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);
  reading::Silent progress;
  auto made = merged_file_of(trace_.folder(), progress);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().where, link());
  EXPECT_TRUE(fs::is_empty(elsewhere_.folder()));
}

TEST_F(LinkedCache, ALinkUnderTheFilesNameIsReplaced) {
  Made first = ask(trace_.folder());
  fs::rename(first.file, elsewhere_.folder() / "mine");
  auto size = fs::file_size(elsewhere_.folder() / "mine");
  fs::resize_file(elsewhere_.folder() / "mine", size / 2);
  fs::create_symlink(elsewhere_.folder() / "mine", first.file);
  Made second = ask(trace_.folder());
  EXPECT_EQ(second.file, first.file);
  EXPECT_FALSE(fs::is_symlink(second.file));
  EXPECT_EQ(fs::file_size(elsewhere_.folder() / "mine"), size / 2);
}

// Another place is tried for the one alone: the trace would be as wrong there.
TEST_F(MergedCache, WhetherTheOutputOrTheTraceIsAtFaultIsTold) {
  reading::Silent progress;
  fs::path output = trace_.folder() / "a.merged";
  EXPECT_FALSE(write_merged(trace_.folder(), output, progress).output_failed);
  auto no_trace = write_merged(trace_.folder() / "a.merged.trace", output, progress);
  ASSERT_FALSE(no_trace);
  EXPECT_FALSE(no_trace.output_failed);
  for (const char* nowhere : {"/dev/null", "/no/such/folder/a.merged"}) {
    auto not_written = write_merged(trace_.folder(), nowhere, progress);
    ASSERT_FALSE(not_written) << nowhere;
    EXPECT_TRUE(not_written.output_failed) << nowhere;
  }
}

TEST_F(MergedCache, WhatIsNoTraceIsTold) {
  reading::Silent progress;
  auto none = merged_file_of(trace_.folder() / "none", progress);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("no such file"), std::string::npos) << none.error().what;
}

}  // namespace
}  // namespace ddpscope::merged
