// Native frames: lines of the build that ran, and of no other. The build id of this test is set by the
// linker.
#include "collector/symbols/native_frames.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>

namespace ddpscope::symbols {
namespace {

[[gnu::noinline]] int place_in_this_test() { return 1; }

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").native(); }

std::uint64_t offset() {
  dl_find_object object;
  auto* address = reinterpret_cast<void*>(&place_in_this_test);
  if (_dl_find_object(address, &object) != 0) return 0;
  return reinterpret_cast<std::uintptr_t>(address) - object.dlfo_link_map->l_addr;
}

TEST(NativeFrames, OfTheBuildThatRan) {
  NativeFrames frames;
  std::string frame = frames.at(self(), THIS_BUILD_ID, offset()).front();
  EXPECT_TRUE(frame.starts_with("native_frames_test.cpp:")) << frame;
  EXPECT_TRUE(frame.ends_with("place_in_this_test")) << frame;
}

TEST(NativeFrames, OfAnotherBuildHaveNoLine) {
  NativeFrames frames;
  std::vector<std::string> offset_only = {
      fmt::format("{}+{:#x}", std::filesystem::path(self()).filename().native(), offset())};
  EXPECT_EQ(frames.at(self(), "0" THIS_BUILD_ID, offset()), offset_only);
  EXPECT_EQ(frames.at(self(), "", offset()), offset_only);
  EXPECT_EQ(frames.at(self() + "/gone", THIS_BUILD_ID, offset()).size(), 1u);
}

}  // namespace
}  // namespace ddpscope::symbols
