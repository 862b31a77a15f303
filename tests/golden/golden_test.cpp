// Every golden trace, in every world that it names.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "collector/analysis/analyze.h"
#include "tests/golden/expectation.h"
#include "tests/tools/text_trace.h"

namespace ddpscope::tests {
namespace {

namespace fs = std::filesystem;

struct Case {
  fs::path file;
  int world;
};

class Silent : public reading::Progress {
  void at(const char*, std::uint64_t, std::uint64_t) override {}
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "ddpscope-golden.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::recursive_directory_iterator(GOLDEN_FOLDER)) {
    if (entry.path().extension() != ".txt" || entry.path().filename() == "CMakeLists.txt") continue;
    std::vector<int> worlds = read_expectation(read_text(entry.path()), 2).worlds;
    if (worlds.empty()) worlds = {0};  // fails, and says why
    for (int world : worlds) cases.push_back({entry.path(), world});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::pair(a.file, a.world) < std::pair(b.file, b.world);
  });
  return cases;
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.file.parent_path().filename().string() + "_" +
                     info.param.file.stem().string() + "_at_" + std::to_string(info.param.world);
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, FindsWhatItSays) {
  ASSERT_GT(GetParam().world, 0) << GetParam().file << " has no line '#: worlds ...'";
  std::string text = read_text(GetParam().file);
  TemporaryFolder folder;
  auto compiled = compile_text_trace(fmt::format("let W = {}\n{}", GetParam().world, text), folder.path());
  ASSERT_TRUE(compiled.ok()) << compiled.error().where << ": " << compiled.error().what;
  Silent progress;
  auto analysis = analysis::analyze(folder.path(), {}, progress);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  Expectation expected = read_expectation(text, GetParam().world);
  for (const std::string& difference : compare(expected, analysis->outcome)) ADD_FAILURE() << difference;
}

INSTANTIATE_TEST_SUITE_P(Traces, Golden, testing::ValuesIn(all_cases()), name_of_case);

}  // namespace
}  // namespace ddpscope::tests
