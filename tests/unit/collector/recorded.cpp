// Folders under the system's temporary one.
#include "tests/unit/collector/recorded.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/tools/text_trace.h"

namespace ddpscope::tests {

namespace fs = std::filesystem;

Recorded::Recorded(std::string_view text) {
  std::string name = (fs::temp_directory_path() / "ddpscope-unit.XXXXXX").string();
  folder_ = mkdtemp(name.data());
  if (text.empty()) return;
  auto compiled = compile_text_trace(text, folder_);
  if (!compiled) ADD_FAILURE() << compiled.error().where << ": " << compiled.error().what;
}

Recorded::~Recorded() { fs::remove_all(folder_); }

fs::path Recorded::only_file() const { return fs::directory_iterator(folder_)->path(); }

Result<reading::Reading> Recorded::read(std::int32_t attempt) const {
  reading::Silent progress;
  return reading::read_trace(folder_, progress, attempt);
}

}  // namespace ddpscope::tests
