#include "collector/commands/input_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ddpscope::commands {

Result<std::string> read_input(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return Error{std::string("cannot read it: ") + std::strerror(errno), path, ""};
  std::string text;
  char part[1 << 16];
  while (std::size_t got = std::fread(part, 1, sizeof(part), file.get())) {
    text.append(part, got);
    if (text.size() > kMost) return Error{"it is larger than 64 MiB", path, ""};
  }
  if (std::ferror(file.get())) return Error{std::string("cannot read it: ") + std::strerror(errno), path, ""};
  return text;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace ddpscope::commands
