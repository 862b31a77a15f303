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
  Result<reading::Reading> read() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace ddpscope::tests
