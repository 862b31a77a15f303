// The writing half runs inside the guest: what it takes from other libraries is listed here, and the list has
// no allocation, no exception and nothing of libstdc++.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return output;
  char buffer[4096];
  while (std::size_t got = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(WritingHalf, TakesOnlyWhatIsSafeAnywhereFromLibc) {
  const std::set<std::string> allowed = {
      "memcpy", "memset", "memmove", "memcmp", "strlen", "clock_gettime", "_GLOBAL_OFFSET_TABLE_"};
  std::istringstream lines(output_of(NM " -P " TRACE_WRITE_LIBRARY));
  std::set<std::string> defined, undefined;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, kind;
    if (!(words >> name >> kind)) continue;
    (kind == "U" ? undefined : defined).insert(name);
  }
  EXPECT_GT(defined.size(), 10u) << "nm found no symbols";
  EXPECT_TRUE(undefined.count("memcpy")) << "the test looks at the wrong file";
  for (const std::string& name : undefined) EXPECT_TRUE(allowed.count(name) || defined.count(name)) << name;
}

}  // namespace
