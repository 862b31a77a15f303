// Native frames: lines of the build that ran, and of no other. The build id of this test is set by the
// linker.
#include "collector/symbols/native_frames.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

namespace ddpscope::symbols {
namespace {

[[gnu::noinline]] int place_in_this_test() { return 1; }

// Its definition lies in a class, its code in whoever uses it.
struct Inlined {
  [[gnu::always_inline]] Inlined() { asm volatile("lea (%%rip), %0\n nop" : "=r"(here)); }
  std::uintptr_t here = 0;
};
[[gnu::noinline]] std::uintptr_t address_in_inlined_code() { return Inlined().here; }

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").native(); }

std::uint64_t offset(void* address = reinterpret_cast<void*>(&place_in_this_test)) {
  dl_find_object object;
  if (_dl_find_object(address, &object) != 0) return 0;
  return reinterpret_cast<std::uintptr_t>(address) - object.dlfo_link_map->l_addr;
}

TEST(NativeFrames, OfTheBuildThatRan) {
  NativeFrames frames;
  std::string frame = frames.at(self(), THIS_BUILD_ID, offset()).front();
  EXPECT_TRUE(frame.starts_with("native_frames_test.cpp:")) << frame;
  EXPECT_TRUE(frame.ends_with("place_in_this_test")) << frame;
}

TEST(NativeFrames, OfInlinedCodeAndOfWhatItWasInlinedInto) {
  NativeFrames frames;
  auto* address = reinterpret_cast<void*>(address_in_inlined_code());
  std::vector<std::string> at = frames.at(self(), THIS_BUILD_ID, offset(address));
  ASSERT_EQ(at.size(), 2u);
  EXPECT_TRUE(at[0].ends_with(" Inlined")) << at[0];
  EXPECT_TRUE(at[1].ends_with("address_in_inlined_code")) << at[1];
}

TEST(NativeFrames, APipeInTheModulesPlaceIsNotWaitedFor) {
  std::filesystem::path pipe = std::filesystem::path(testing::TempDir()) / fmt::format("pipe_{}", getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  NativeFrames frames;
  std::vector<std::string> at = frames.at(pipe.native(), THIS_BUILD_ID, 16);
  std::filesystem::remove(pipe);
  EXPECT_EQ(at, std::vector{fmt::format("{}+0x10", pipe.filename().native())});
}

// The library as several compilers make it.
class Lambdas : public testing::TestWithParam<std::string> {};

std::vector<std::string> libraries() {
  std::vector<std::string> paths;
  std::istringstream all(LAMBDAS);
  for (std::string path; std::getline(all, path, ',');) paths.push_back(path);
  return paths;
}

TEST_P(Lambdas, HaveLinesAndNames) {
  void* library = dlopen(GetParam().c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* call = reinterpret_cast<std::uintptr_t (*)()>(dlsym(library, "address_in_lambda"));
  NativeFrames frames;
  std::string frame = frames.at(GetParam(), "", offset(reinterpret_cast<void*>(call()))).front();
  EXPECT_TRUE(frame.starts_with("lambdas.cpp:12 training::address_in_lambda::")) << frame;
  EXPECT_FALSE(frame.ends_with("operator()")) << frame;
}

INSTANTIATE_TEST_SUITE_P(NativeFrames, Lambdas, testing::ValuesIn(libraries()), [](const auto& library) {
  return std::filesystem::path(library.param).stem().native();
});

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
