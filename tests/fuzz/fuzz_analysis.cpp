// The whole analysis of a folder of traces. An input is its files one behind the other: a file ends where the
// next page begins with a magic.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "collector/analysis/analyze.h"
#include "collector/reports/report.h"
#include "trace/format.h"

namespace {

using namespace ddpscope;
namespace fs = std::filesystem;

// In memory, one a process: fuzzing is thousands of folders a minute.
const fs::path& folder() {
  static const fs::path path = "/dev/shm/ddpscope-fuzz-" + std::to_string(getpid());
  return path;
}

bool begins_file(const std::uint8_t* page, std::size_t left) {
  return left >= sizeof(trace::kMagic) && std::memcmp(page, trace::kMagic, sizeof(trace::kMagic)) == 0;
}

void write_files(const std::uint8_t* data, std::size_t size) {
  fs::create_directory(folder());
  std::size_t begin = 0;
  for (std::size_t at = trace::kPageBytes, number = 0; begin < size; at += trace::kPageBytes) {
    if (at < size && !begins_file(data + at, size - at)) continue;
    std::size_t end = std::min(at, size);
    std::ofstream out(folder() / (std::to_string(number++) + trace::kFileSuffix), std::ios::binary);
    out.write(reinterpret_cast<const char*>(data + begin), static_cast<std::streamsize>(end - begin));
    begin = end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  write_files(data, size);
  reading::Silent progress;
  auto analysis = analysis::analyze(folder(), {}, progress);
  if (analysis) {
    reports::text_report(reports::facts_of(analysis->job), analysis->outcome);
    reports::json_report(reports::facts_of(analysis->job), analysis->outcome, "0");
  }
  fs::remove_all(folder());
  return 0;
}
