// A trace held as text in a test, compiled into a folder that lives as long as this object.
#pragma once
#include <filesystem>
#include <string_view>

#include "collector/reading/progress.h"
#include "collector/reading/read_trace.h"

namespace ddpscope::tests {

class Recorded {
 public:
  explicit Recorded(std::string_view text = "");  // fails the test if the text has a mistake
  ~Recorded();
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path only_file() const;
  Result<reading::Reading> read(std::int32_t attempt = -1) const;  // -1: the last

 private:
  std::filesystem::path folder_;
};

// Two ranks that look at one file.
inline constexpr const char* kTwoRanks = R"(
process r0 rank=0 world=2 until=3
process r1 rank=1 world=2 until=3
r0 1.000 +0.001 stat path=data/train.csv
r1 1.000 +0.001 stat path=data/train.csv
)";

}  // namespace ddpscope::tests
