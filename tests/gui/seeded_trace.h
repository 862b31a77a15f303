// Jobs drawn from a seed, as merged files: which rank is at fault, and when, is in the draw, so that a test
// can say where it has to be seen.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collector/merged/reader.h"

namespace ddpscope::tests {

// A folder that is gone with the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Compiles the text of a trace, analyses it and opens the merged file. Fails the test where that does not
// work. `previews`: what could be looked at before.
std::optional<merged::Reader> open_text(const std::string& text, const TemporaryFolder& folder,
                                        std::vector<merged::Reader>* previews = nullptr);

struct SkippedBarrier {
  std::string text;
  int ranks = 0;
  int faulty = 0;             // the rank that runs no barrier
  std::int64_t early_ns = 0;  // begin of its call instead
};
SkippedBarrier draw_skipped_barrier(unsigned seed);

// Ranks that write one file at once, unordered.
struct SharedFile {
  std::string text;
  std::string path;
  int ranks = 0;
  std::int64_t write_ns = 0;  // begin of rank 0's opening
};
SharedFile draw_shared_file(unsigned seed);

// A golden trace, "checkpoint-race/speaks-all-rename", with that many ranks.
std::string golden(const std::string& name, int ranks);

extern const char* const kHealthy;     // two ranks, nothing wrong
extern const char* const kOneRank;     // alone, events of no length among its own
std::string healthy_ranks(int ranks);  // as many, nothing wrong

}  // namespace ddpscope::tests
