// Regular files by way of a new one, all others as they are.
#include "collector/commands/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "collector/output/new_file.h"

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhat = "the report";

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int replace(const fs::path& file, std::string_view text) {
  output::NewFile fresh(file);
  if (fresh.error()) return fresh.error();
  return write_all(fresh.fd(), text) ? fresh.finish() : errno;
}

int write_special(const fs::path& file, std::string_view text) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = write_all(fd, text) ? 0 : errno;
  if (::close(fd) != 0 && !error) error = errno;
  return error;
}

}  // namespace

std::optional<Error> check_output(const std::string& path) {
  fs::path file = output::target_of(path);
  std::error_code error;
  if (path.empty() || fs::is_directory(file, error))
    return output::cannot_write(kWhat, path, path.empty() ? ENOENT : EISDIR);
  fs::path written = output::is_special(file) ? file : output::folder_of(file);
  if (::access(written.c_str(), W_OK) != 0) return output::cannot_write(kWhat, path, errno);
  return std::nullopt;
}

std::optional<Error> write_output(const std::string& path, std::string_view text) {
  fs::path file = output::target_of(path);
  int error = output::is_special(file) ? write_special(file, text) : replace(file, text);
  if (error) return output::cannot_write(kWhat, path, error);
  return std::nullopt;
}

}  // namespace ddpscope::commands
