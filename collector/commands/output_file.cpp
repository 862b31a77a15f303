// A temporary file in the same folder, then a rename.
#include "collector/commands/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, int error) {
  const char* hint = error == ENOSPC || error == EDQUOT || error == EFBIG
                         ? "make room there, or name another file with -o"
                         : "name another file with -o";
  return {std::string("cannot write the report: ") + std::strerror(error), path, hint};
}

// Where a symbolic link leads: the link stays, its target is replaced.
fs::path target_of(const std::string& path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

bool is_special(const fs::path& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// 0, or errno.
int write_and_close(int fd, std::string_view text) {
  int error = write_all(fd, text) ? 0 : errno;
  if (::close(fd) != 0 && !error) error = errno;  // NFS tells of a full disk here
  return error;
}

// What open() would have given a new file, or what the replaced one had.
mode_t mode_for(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) return status.st_mode & 0777;
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

int replace(const fs::path& file, std::string_view text) {
  std::string fresh = (folder_of(file) / ".ddpscope.XXXXXX").string();
  int fd = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) return errno;
  ::fchmod(fd, mode_for(file));
  int error = write_and_close(fd, text);
  if (!error && ::rename(fresh.c_str(), file.c_str()) != 0) error = errno;
  if (error) ::unlink(fresh.c_str());
  return error;
}

int write_special(const fs::path& file, std::string_view text) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  return fd < 0 ? errno : write_and_close(fd, text);
}

}  // namespace

std::optional<Error> check_output(const std::string& path) {
  fs::path file = target_of(path);
  std::error_code error;
  if (path.empty() || fs::is_directory(file, error))
    return cannot_write(path, path.empty() ? ENOENT : EISDIR);
  fs::path written = is_special(file) ? file : folder_of(file);
  if (::access(written.c_str(), W_OK) != 0) return cannot_write(path, errno);
  return std::nullopt;
}

std::optional<Error> write_output(const std::string& path, std::string_view text) {
  fs::path file = target_of(path);
  int error = is_special(file) ? write_special(file, text) : replace(file, text);
  if (error) return cannot_write(path, error);
  return std::nullopt;
}

}  // namespace ddpscope::commands
