// The list.
#include "collector/files/ignored.h"

#include <algorithm>
#include <iterator>

namespace ddpscope::files {
namespace {

constexpr std::string_view kIgnored[] = {"/__pycache__/",   "/.triton/",          "/triton_cache",
                                         "/torchinductor_", "/torch_extensions/", "/.nv/",
                                         "/.cache/"};
constexpr std::string_view kIgnoredRoots[] = {"/proc/", "/sys/", "/dev/"};

}  // namespace

bool is_ignored(std::string_view path) {
  auto within = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  auto below = [&](std::string_view root) { return path.starts_with(root); };
  return path.empty() || std::any_of(std::begin(kIgnored), std::end(kIgnored), within) ||
         std::any_of(std::begin(kIgnoredRoots), std::end(kIgnoredRoots), below);
}

}  // namespace ddpscope::files
