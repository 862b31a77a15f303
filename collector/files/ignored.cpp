// The list.
#include "collector/files/ignored.h"

#include <algorithm>
#include <iterator>

namespace ddpscope::files {
namespace {

constexpr std::string_view kIgnored[] = {"/__pycache__/",   "/.triton/",          "/triton_cache",
                                         "/torchinductor_", "/torch_extensions/", "/.nv/",
                                         "/.cache/"};
constexpr std::string_view kKernelsRoots[] = {"/proc/", "/sys/", "/dev/"};
constexpr std::string_view kSharedMemory = "/dev/shm/";

bool is_kernels(std::string_view path) {
  return std::any_of(std::begin(kKernelsRoots), std::end(kKernelsRoots),
                     [&](std::string_view root) { return path.starts_with(root); });
}

}  // namespace

bool is_no_file(std::string_view path) {
  return path.empty() || (is_kernels(path) && !path.starts_with(kSharedMemory));
}

bool is_ignored(std::string_view path) {
  auto within = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  return path.empty() || is_kernels(path) || std::any_of(std::begin(kIgnored), std::end(kIgnored), within);
}

}  // namespace ddpscope::files
