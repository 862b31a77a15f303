// Where the merged file of a trace is kept, and when it is made again.
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
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

bool is_link(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(path, error);
}

struct Folders {
  std::vector<fs::path> paths;  // the best first
  std::optional<Error> refused;
};

// A trace may come from somebody else, and a link in it lead anywhere: rights are set there, and files
// written and removed. What the user's own cache is, the user knows.
Folders cache_folders(const fs::path& trace) {
  std::error_code error;
  Folders folders;
  fs::path beside = (fs::is_directory(trace, error) ? trace : trace.parent_path()) / kFolder;
  if (is_link(beside))
    folders.refused = {"a symbolic link is not followed to keep the merged file", beside.string(),
                       "take the link out; XDG_CACHE_HOME names another place"};
  else
    folders.paths.push_back(beside);
  if (fs::path cache = user_cache(); !cache.empty()) folders.paths.push_back(cache);
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

// The cached file, if this build made it of the trace as it is.
std::optional<Made> known_in(const fs::path& folder, const std::string& name) {
  fs::path file = folder / name;
  if (is_link(file) || !is_merged_file(file)) return std::nullopt;
  auto known = Reader::open(file);
  // While the job runs its files grow within what was reserved for them: their sizes and times stay.
  if (!known || known->job().runs_on) return std::nullopt;
  return Made{file, known->problems(), {}, true};
}

// Of one trace: the same while its files change.
std::string stem_of(const fs::path& trace, std::int32_t attempt) {
  std::string path = fmt::format("{} {}", fs::absolute(trace).string(), attempt);
  return fmt::format("{:016x}", XXH3_64bits(path.data(), path.size()));
}

Made with_warning(Made made, const std::optional<Error>& refused) {
  if (refused) made.warnings.push_back(*refused);
  return made;
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
  auto [folders, refused] = cache_folders(trace);
  for (const fs::path& folder : folders)
    if (auto known = known_in(folder, name)) return with_warning(std::move(*known), refused);
  Error failure = refused.value_or(
      Error{"there is no folder for the merged file: neither the trace's nor a cache of yours can be written",
            trace.string(), kElsewhere});
  for (const fs::path& folder : folders) {
    if (!can_be_made(folder)) continue;
    if (is_link(folder / name)) fs::remove(folder / name, error);  // else what it leads to would be replaced
    auto made = write_merged(trace, folder / name, progress, here, attempt, take);
    if (made) {
      for (const fs::path& each : folders) remove_others(each, stem, folder / name);
      return with_warning(std::move(*made), refused);
    }
    if (!made.output_failed) return made;
    failure = {made.error().what, made.error().where, kElsewhere};
  }
  return failure;
}

}  // namespace ddpscope::merged
