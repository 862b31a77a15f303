// Names, and a probe file.
#include "collector/commands/recording_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "trace/format.h"

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint = "name another folder with -o";

Error cannot_make(const fs::path& folder, const std::error_code& error) {
  return {"cannot make the folder: " + error.message(), folder.string(), kHint};
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

// The job's file name, fit for a folder's: a command line can hold any bytes.
std::string job_name(const std::string& command) {
  constexpr std::size_t kLongest = 64;
  std::string name = fs::path(command).filename().string().substr(0, kLongest);
  auto fit = [](unsigned char c) { return std::isalnum(c) || std::strchr("._-+", c); };
  std::replace_if(
      name.begin(), name.end(), [&](unsigned char c) { return !fit(c); }, '_');
  return name.empty() ? "job" : name;
}

Result<RecordingFolder> make(const fs::path& folder) {
  std::error_code error;
  RecordingFolder made{folder, !fs::exists(folder, error)};
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error);
  if (!fs::is_directory(folder, error)) return Error{"is not a folder", folder.string(), kHint};
  if (made.made) chmod(folder.c_str(), 0700);
  return made;
}

// Two jobs that start in the same second must not share a folder.
Result<RecordingFolder> make_new(const std::string& name) {
  for (int number = 1;; ++number) {
    fs::path folder = number == 1 ? name : fmt::format("{}.{}", name, number);
    if (::mkdir(folder.c_str(), 0700) == 0) return RecordingFolder{folder, true};
    if (errno != EEXIST) return cannot_make(folder, {errno, std::generic_category()});
  }
}

Result<RecordingFolder> choose(const std::vector<std::string>& command) {
  std::string id = variable("SLURM_JOB_ID", "");
  if (!id.empty())
    return make(fmt::format("ddpscope.{}.{}.{}", id, variable("SLURM_STEP_ID", "0"),
                            variable("SLURM_RESTART_COUNT", "0")));
  return make_new(fmt::format("ddpscope.{}.{:%Y%m%d-%H%M%S}", job_name(command.front()),
                              fmt::localtime(std::time(nullptr))));
}

bool page_fits_size_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= trace::kPageBytes;
}

}  // namespace

Result<RecordingFolder> open_recording_folder(const std::optional<std::string>& named,
                                              const std::vector<std::string>& command) {
  if (named && named->empty()) return Error{"-o names no folder", "", "leave it out, and one is chosen"};
  auto folder = named ? make(*named) : choose(command);
  if (!folder) return folder;
  std::error_code error;
  fs::path path = fs::canonical(folder->path, error);  // the job may change its directory
  if (error) return cannot_make(folder->path, error);
  if (auto problem = check_room(path)) {
    if (folder->made) fs::remove(path, error);
    return *problem;
  }
  folder->path = path;
  return folder;
}

std::optional<Error> check_room(const fs::path& folder) {
  // As long as a trace's name can get: HOST.PID.START.ATTEMPT.ddps.part
  std::string probe = (folder / (".probe." + std::string(100, '_') + ".XXXXXX")).string();
  int fd = mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0)
    return Error{std::string("cannot write to the folder: ") + std::strerror(errno), folder.string(), kHint};
  // posix_fallocate beyond the limit would end us with SIGXFSZ.
  int error = page_fits_size_limit() ? posix_fallocate(fd, 0, trace::kPageBytes) : EFBIG;
  close(fd);
  unlink(probe.c_str());
  if (error == 0) return std::nullopt;
  return Error{std::string("no room for a trace in the folder: ") + std::strerror(error), folder.string(),
               "make room there, or name another folder with -o"};
}

}  // namespace ddpscope::commands
