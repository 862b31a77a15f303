// Preload list, folder, sizes.
#include "collector/commands/job_environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Executables and libraries lie beside each other: BUILD/bin and BUILD/lib.
fs::path library_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "lib";
}

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + ":" + second;
}

}  // namespace

fs::path default_folder(const std::vector<std::string>& command) {
  std::string id = environment("SLURM_JOB_ID");
  auto or_zero = [](const std::string& text) { return text.empty() ? "0" : text; };
  if (!id.empty())
    return fmt::format("ddpscope.{}.{}.{}", id, or_zero(environment("SLURM_STEP_ID")),
                       or_zero(environment("SLURM_RESTART_COUNT")));
  std::string job = fs::path(command.front()).filename().string();
  return fmt::format("ddpscope.{}.{:%Y%m%d-%H%M%S}", job, fmt::localtime(std::time(nullptr)));
}

std::optional<Error> prepare_folder(const fs::path& folder) {
  constexpr const char* kHint = "name another one with -o";
  std::error_code error;
  bool fresh = !fs::exists(folder, error);
  fs::create_directories(folder, error);
  if (error) return Error{"cannot make the folder: " + error.message(), folder.string(), kHint};
  if (!fs::is_directory(folder, error)) return Error{"is not a folder", folder.string(), kHint};
  if (fresh) chmod(folder.c_str(), 0700);
  std::string probe = (folder / ".probe.XXXXXX").string();
  int fd = mkstemp(probe.data());
  if (fd < 0)
    return Error{std::string("cannot write to the folder: ") + std::strerror(errno), folder.string(), kHint};
  close(fd);
  unlink(probe.c_str());
  return std::nullopt;
}

Result<std::uint64_t> parse_size(const std::string& text) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || number == 0 || number > (~std::uint64_t{0} >> shift))
    return Error{"not a size", text, "a number, with K, M or G for powers of 1024"};
  return number << shift;
}

Result<std::map<std::string, std::string>> job_environment(const RecordingOptions& options,
                                                           const fs::path& folder) {
  fs::path libraries = library_folder();
  std::vector<fs::path> preload = {libraries / "libddpscope.so"};
  if (options.stand_ins)
    for (const char* name : {"libcudart.so.13", "libnccl.so.2"})
      preload.push_back(libraries / "standin" / name);
  std::map<std::string, std::string> changed;
  std::string list = environment("LD_PRELOAD");
  for (const fs::path& library : preload) {
    if (access(library.c_str(), R_OK) != 0)
      return Error{"a library of ddpscope is missing", library.string(),
                   "build all of it: cmake --build BUILD"};
    list = joined(list, library.string());
  }
  changed["LD_PRELOAD"] = list;
  changed["DDPSCOPE_TRACE"] = folder.string();
  if (!options.ring.empty()) {
    auto bytes = parse_size(options.ring);
    if (!bytes) return bytes.error();
    changed["DDPSCOPE_RING"] = std::to_string(*bytes);
  }
  if (!options.gpu_timing.empty()) changed["DDPSCOPE_GPU_TIMING"] = options.gpu_timing;
  if (options.stand_ins)
    changed["LD_LIBRARY_PATH"] = joined((libraries / "standin").string(), environment("LD_LIBRARY_PATH"));
  return changed;
}

}  // namespace ddpscope::commands
