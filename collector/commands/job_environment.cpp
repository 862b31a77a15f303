// Preload list, sizes.
#include "collector/commands/job_environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

// Below, a chunk of each thread does not fit; above, the table of its chunks would be larger than memory.
constexpr std::uint64_t kSmallestRing = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestRing = std::uint64_t{1024} << 30;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

constexpr const char* kNvtxTool = "NVTX_INJECTION64_PATH";
constexpr const char* kProfilerPlugin = "NCCL_PROFILER_PLUGIN";
constexpr const char* kOtherPlugin = "DDPSCOPE_NCCL_PROFILER_PLUGIN";
constexpr const char* kSelf = "/proc/self/exe";

constexpr const char* kInjector = "libddpscope.so";

// Executables and libraries lie beside each other: BUILD/bin and BUILD/lib, or as they were installed.
Result<fs::path> library_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink(kSelf, error);
  if (error)
    return Error{"cannot find the libraries of ddpscope: " + error.message(), kSelf,
                 "mount /proc: recording needs it, too"};
  fs::path built = self.parent_path().parent_path() / "lib";
  fs::path installed = (self.parent_path() / DDPSCOPE_INSTALLED_LIBRARIES).lexically_normal();
  return fs::exists(installed / kInjector, error) && !fs::exists(built / kInjector, error) ? installed
                                                                                           : built;
}

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() ? second : second.empty() ? first : first + ":" + second;
}

std::optional<Error> check_library(const fs::path& library) {
  if (access(library.c_str(), R_OK) != 0)
    return Error{"a library of ddpscope is missing", library.string(),
                 "a wheel or package has all of them, an image layer lacks those for --cpu; a build: cmake "
                 "--build BUILD"};
  if (library.string().find_first_of(": \t\n") != std::string::npos)
    return Error{"LD_PRELOAD cannot name a library whose path holds a blank or a colon", library.string(),
                 "build in, or move the build to, a folder without them"};
  return std::nullopt;
}

Result<std::uint64_t> parse_ring(const std::string& text) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0)
    return Error{"--ring: '" + text + "' is not a size", "", "a number, with K, M or G for powers of 1024"};
  if (number > (kLargestRing >> shift) || (number << shift) < kSmallestRing)
    return Error{"--ring: " + text + " is out of range", "", "from 64K to 1024G; 64M without --ring"};
  return number << shift;
}

}  // namespace

Result<std::map<std::string, std::string>> job_environment(const RecordingOptions& options) {
  auto found = library_folder();
  if (!found) return found.error();
  const fs::path& libraries = *found;
  std::vector<fs::path> preload = {libraries / kInjector};
  if (options.stand_ins)
    // A program is built for CUDA 12 or 13, and what it is built for shows only once it runs: both are there.
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libnccl.so.2", "libcuda.so.1",
                             "libcupti.so.13", "libcupti.so.12"})
      preload.push_back(libraries / "standin" / name);
  std::map<std::string, std::string> changed;
  std::string list = environment("LD_PRELOAD");
  for (const fs::path& library : preload) {
    if (auto problem = check_library(library)) return *problem;
    list = joined(list, library.string());
  }
  changed["LD_PRELOAD"] = list;
  // Ranges that the program names: of another tool that wants them (Nsight), they are its own.
  if (environment(kNvtxTool).empty()) changed[kNvtxTool] = preload.front().string();
  changed["DDPSCOPE_GPU_TIMING"] = options.gpu_timing;
  // NCCL takes one profiler plugin: the one that it would have taken is told by ours. An outer run did the
  // same.
  if (options.gpu_timing == "profiler" && environment(kProfilerPlugin) != preload.front().string()) {
    changed[kOtherPlugin] = environment(kProfilerPlugin);
    changed[kProfilerPlugin] = preload.front().string();
  }
  if (options.ring) {
    auto bytes = parse_ring(*options.ring);
    if (!bytes) return bytes.error();
    changed["DDPSCOPE_RING"] = std::to_string(*bytes);
  }
  if (options.stand_ins) {
    changed["LD_LIBRARY_PATH"] = joined((libraries / "standin").string(), environment("LD_LIBRARY_PATH"));
    // Its sitecustomize.py has PyTorch's operators computed on the CPU.
    const fs::path operators = libraries / "standin" / "torch";
    if (auto problem = check_library(operators / "sitecustomize.py")) return *problem;
    changed["PYTHONPATH"] = joined(operators.string(), environment("PYTHONPATH"));
  }
  return changed;
}

}  // namespace ddpscope::commands
