// Where the merged file of a trace is kept, and when it is made again.
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collector/merged/build_id.h"
#include "collector/merged/format.h"
#include "collector/merged/make.h"
#include "collector/merged/reader.h"
#include "collector/reading/read_trace.h"
#include "trace/format.h"

namespace ddpscope::merged {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = ".ddpscope-cache";

struct TraceFileState {
  std::string name;
  std::uint64_t inode, bytes;
  std::int64_t changed_ns;
};

// Empty: nothing to go by.
std::vector<TraceFileState> states_of(const fs::path& trace) {
  std::vector<TraceFileState> states;
  auto add = [&](const fs::path& file) {
    struct stat status {};
    if (file.extension() != trace::kFileSuffix || ::stat(file.c_str(), &status) != 0) return;
    states.push_back({file.filename().string(), status.st_ino, static_cast<std::uint64_t>(status.st_size),
                      status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
  };
  std::error_code error;
  if (fs::is_directory(trace, error))
    for (const auto& entry : fs::directory_iterator(trace, error)) add(entry.path());
  else
    add(trace);
  std::sort(states.begin(), states.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return states;
}

// Of all that the merged file depends on: what a build of the same version finds, and how it tells it, may
// be other.
std::uint64_t key_of(const fs::path& trace, std::int32_t attempt) {
  std::string text =
      fmt::format("{} {} {} {}\n", build_id(), kVersion, attempt, fs::absolute(trace).string());
  for (const TraceFileState& state : states_of(trace))
    text += fmt::format("{} {} {} {}\n", state.name, state.inode, state.bytes, state.changed_ns);
  return XXH3_64bits(text.data(), text.size());
}

bool can_be_made(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error)) return false;
  fs::permissions(folder, fs::perms::owner_all, error);  // a trace is its owner's alone
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

fs::path user_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return fs::path(cache) / "ddpscope";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "ddpscope";
  return {};
}

// The best first.
std::vector<fs::path> cache_folders(const fs::path& trace) {
  std::error_code error;
  std::vector<fs::path> folders = {(fs::is_directory(trace, error) ? trace : trace.parent_path()) / kFolder};
  if (fs::path cache = user_cache(); !cache.empty()) folders.push_back(cache);
  return folders;
}

constexpr const char* kElsewhere =
    "`ddpscope export --format merged -o FILE` writes it where you like, and `ddpscope view FILE` shows it";

// Merged files of earlier states of the trace, and of earlier builds.
void remove_others(const fs::path& folder, const std::string& stem, const fs::path& kept) {
  std::error_code error;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(stem + ".") && name.ends_with(".merged") && entry.path() != kept)
      old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

// Of one trace: the same while its files change.
std::string stem_of(const fs::path& trace, std::int32_t attempt) {
  std::string path = fmt::format("{} {}", fs::absolute(trace).string(), attempt);
  return fmt::format("{:016x}", XXH3_64bits(path.data(), path.size()));
}

}  // namespace

Result<Made> merged_file_of(const fs::path& trace, reading::Progress& progress, const trace::Identity* here,
                            std::int32_t attempt, const TakePreview& take) {
  if (is_merged_file(trace)) return Made{trace, {}, {}, false};
  std::error_code error;
  if (!fs::exists(trace, error)) {
    auto reading = reading::read_trace(trace, progress, attempt);  // says what is wrong
    return reading ? Error{"no such trace", trace.string(), ""} : reading.error();
  }
  std::string stem = stem_of(trace, attempt);
  std::string name = fmt::format("{}.{:016x}.merged", stem, key_of(trace, attempt));
  std::vector<fs::path> folders = cache_folders(trace);
  for (const fs::path& folder : folders) {
    if (!is_merged_file(folder / name)) continue;
    // While the job runs its files grow within what was reserved for them: their sizes and times stay.
    if (auto known = Reader::open(folder / name); known && !known->job().runs_on)
      return Made{folder / name, known->problems(), {}, true};
  }
  Error failure{
      "there is no folder for the merged file: neither the trace's nor a cache of yours can be written",
      trace.string(), kElsewhere};
  for (const fs::path& folder : folders) {
    if (!can_be_made(folder)) continue;
    auto made = write_merged(trace, folder / name, progress, here, attempt, take);
    if (made)
      for (const fs::path& each : folders) remove_others(each, stem, folder / name);
    if (made || !made.output_failed) return made;
    failure = {made.error().what, made.error().where, kElsewhere};
  }
  return failure;
}

}  // namespace ddpscope::merged
