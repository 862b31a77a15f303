// Every golden trace, in every world that it names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collector/analysis/analyze.h"
#include "tests/golden/expectation.h"
#include "tests/tools/text_trace.h"
#include "tests/tools/trace_files.h"

namespace ddpscope::tests {
namespace {

namespace fs = std::filesystem;

struct Case {
  fs::path file;
  int world;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const fs::path& file : text_traces_below(GOLDEN_FOLDER)) {
    std::vector<int> worlds = read_expectation(read_text(file), 2).worlds;
    if (worlds.empty()) worlds = {0};  // fails, and says why
    for (int world : worlds) cases.push_back({file, world});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::pair(a.file, a.world) < std::pair(b.file, b.world);
  });
  return cases;
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return test_name_of(info.param.file, "_at_" + std::to_string(info.param.world));
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, FindsWhatItSays) {
  ASSERT_GT(GetParam().world, 0) << GetParam().file << " has no line '#: worlds ...'";
  std::string text = read_text(GetParam().file);
  TemporaryFolder folder;
  auto compiled = compile_text_trace(fmt::format("let W = {}\n{}", GetParam().world, text), folder.path());
  ASSERT_TRUE(compiled.ok()) << compiled.error().where << ": " << compiled.error().what;
  reading::Silent progress;
  auto analysis = analysis::analyze(folder.path(), {}, progress);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  Expectation expected = read_expectation(text, GetParam().world);
  for (const std::string& difference : compare(expected, analysis->outcome)) ADD_FAILURE() << difference;
}

INSTANTIATE_TEST_SUITE_P(Traces, Golden, testing::ValuesIn(all_cases()), name_of_case);

}  // namespace
}  // namespace ddpscope::tests
