// Regular files by way of a new one, all others as they are.
#include "collector/commands/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "collector/output/new_file.h"

namespace ddpscope::commands {

namespace fs = std::filesystem;

std::optional<Error> check_output(const std::string& path, std::string_view what) {
  if (auto planted = output::find_planted_link(what, path)) return planted;
  fs::path file = output::target_of(path);
  std::error_code error;
  if (path.empty() || fs::is_directory(file, error))
    return output::cannot_write(what, path, path.empty() ? ENOENT : EISDIR);
  fs::path written = output::is_special(file) ? file : output::folder_of(file);
  if (::access(written.c_str(), W_OK) != 0) return output::cannot_write(what, path, errno);
  return std::nullopt;
}

std::optional<Error> write_output(const std::string& path, std::string_view text, std::string_view what) {
  if (int error = output::write_file(path, text)) return output::cannot_write(what, path, error);
  return std::nullopt;
}

}  // namespace ddpscope::commands
