// Unnamed files (O_TMPFILE), or where those cannot be had temporary names; then a rename.
#include "collector/output/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace ddpscope::output {
namespace {

namespace fs = std::filesystem;

// Without a name, or with the one in `fresh`.
int open_fresh(const fs::path& folder, std::string& fresh) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  fresh = (folder / ".ddpscope.XXXXXX").string();
  fd = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) fresh.clear();
  return fd;
}

mode_t mode_for(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) return status.st_mode & 0777;
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

constexpr int kMostLinks = 40;  // as the kernel follows

// The kernel's rule (fs.protected_symlinks), for links that are resolved here and not by the kernel.
bool is_planted(const fs::path& path) {
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat link {
    }, folder{};
    if (::lstat(at.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
    if (::stat(folder_of(at).c_str(), &folder) == 0 && folder.st_mode & S_IWOTH &&
        link.st_uid != ::geteuid() && link.st_uid != folder.st_uid)
      return true;
    at = at.parent_path() / fs::read_symlink(at, error);
  }
  return false;
}

}  // namespace

fs::path target_of(const fs::path& path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  if (!error) return target;
  target = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i)
    target = target.parent_path() / fs::read_symlink(target, error);  // an absolute one stands alone
  return target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

bool is_special(const fs::path& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status);
}

std::optional<Error> find_planted_link(std::string_view what, const fs::path& path) {
  if (!is_planted(path)) return std::nullopt;
  return Error{fmt::format("cannot write {}: the name is a symbolic link of another user", what),
               path.string(), "remove the link, or name another file with -o"};
}

Error cannot_write(std::string_view what, const fs::path& path, int error) {
  const char* hint = error == ENOSPC || error == EDQUOT || error == EFBIG
                         ? "make room there, or name another file with -o"
                         : "name another file with -o";
  return {fmt::format("cannot write {}: {}", what, std::strerror(error)), path.string(), hint};
}

int open_nameless(const fs::path& folder) {
  std::string name;
  int fd = open_fresh(folder, name);
  if (!name.empty()) ::unlink(name.c_str());
  return fd;
}

NewFile::NewFile(fs::path target) : target_(std::move(target)) {
  fd_ = open_fresh(folder(), fresh_);
  if (fd_ < 0) error_ = errno;
}

NewFile::NewFile(NewFile&& other) noexcept { *this = std::move(other); }

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(error_, other.error_);
  std::swap(target_, other.target_);
  std::swap(fresh_, other.fresh_);
  return *this;
}

NewFile::~NewFile() {
  if (!fresh_.empty()) ::unlink(fresh_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

// rename() replaces what has the name; a file without one has to get some other first.
int NewFile::give_name() {
  ::fchmod(fd_, mode_for(target_));
  for (int tries = 0; fresh_.empty(); ++tries) {
    std::string name = (folder() / fmt::format(".ddpscope.{}.{}", ::getpid(), tries)).string();
    std::string self = fmt::format("/proc/self/fd/{}", fd_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      fresh_ = name;
    else if (errno != EEXIST || tries == 100)
      return errno;
  }
  if (::rename(fresh_.c_str(), target_.c_str()) != 0) return errno;
  fresh_.clear();
  return 0;
}

int NewFile::finish() {
  int error = give_name();
  if (::close(std::exchange(fd_, -1)) != 0 && !error) error = errno;  // NFS tells of a full disk here
  return error;
}

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int write_special(const fs::path& file, std::string_view text) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = write_all(fd, text) ? 0 : errno;
  if (::close(fd) != 0 && !error) error = errno;
  return error;
}

}  // namespace

int replace_file(const fs::path& path, std::string_view bytes) {
  NewFile fresh(path);
  if (fresh.error()) return fresh.error();
  return write_all(fresh.fd(), bytes) ? fresh.finish() : errno;
}

int write_file(const fs::path& path, std::string_view bytes) {
  if (is_planted(path)) return EACCES;  // as the kernel
  fs::path file = target_of(path);
  return is_special(file) ? write_special(file, bytes) : replace_file(file, bytes);
}

}  // namespace ddpscope::output
