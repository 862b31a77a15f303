// Unnamed files (O_TMPFILE), or where those cannot be had temporary names.
#include "collector/merged/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace ddpscope::merged {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = 1 << 20;

int write_at_once(int fd, std::uint64_t offset, std::span<const unsigned char> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

std::string fresh_name(const fs::path& folder) { return (folder / ".ddpscope.XXXXXX").string(); }

// Without a name, or with the one in `fresh`.
int open_fresh(const fs::path& folder, std::string& fresh) {
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  fresh = fresh_name(folder);
  fd = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) fresh.clear();
  return fd;
}

// What open() would have given a new file, or what the replaced one had.
mode_t mode_for(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) return status.st_mode & 0777;
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<Output> Output::create(const fs::path& path) {
  Output output;
  std::error_code unknown;
  fs::path target = fs::canonical(path, unknown);  // a symbolic link stays, what it leads to is replaced
  output.path_ = unknown ? path : target;
  output.folder_ = output.path_.has_parent_path() ? output.path_.parent_path() : ".";
  fs::file_status status = fs::status(output.path_, unknown);
  if (path.empty()) return output.told(ENOENT);
  if (fs::is_directory(status)) return output.told(EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Error{"cannot write the merged file: not a regular file", path.string(), "name a file with -o"};
  output.fd_ = open_fresh(output.folder_, output.fresh_);
  if (output.fd_ < 0) return output.told(errno);
  output.buffer_.reserve(kBuffer);
  return output;
}

Output::Output(Output&& other) noexcept { *this = std::move(other); }

Output& Output::operator=(Output&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(error_, other.error_);
  std::swap(path_, other.path_);
  std::swap(folder_, other.folder_);
  std::swap(fresh_, other.fresh_);
  std::swap(offset_, other.offset_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Output::~Output() {
  if (!fresh_.empty()) ::unlink(fresh_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

Error Output::told(int error) const {
  const char* hint = error == ENOSPC || error == EDQUOT || error == EFBIG
                         ? "make room there, or name another file with -o"
                         : "name another file with -o";
  return {fmt::format("cannot write the merged file: {}", std::strerror(error)), path_.string(), hint};
}

void Output::fail(int error) {
  if (error_ == 0) error_ = error;
}

void Output::append(std::span<const unsigned char> bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() > kBuffer)
    write_all(offset_, bytes);
  else
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  offset_ += bytes.size();
}

void Output::append(const Spool& spool) {
  fail(spool.for_each_part([this](std::span<const unsigned char> part) { append(part); }));
}

void Output::align(std::size_t bytes) {
  static constexpr unsigned char kZeros[64] = {};
  while (offset_ % bytes) append({kZeros, std::min<std::size_t>(sizeof(kZeros), bytes - offset_ % bytes)});
}

void Output::flush() {
  write_all(offset_ - buffer_.size(), buffer_);
  buffer_.clear();
}

bool Output::write_all(std::uint64_t offset, std::span<const unsigned char> bytes) {
  if (!error_) fail(write_at_once(fd_, offset, bytes));
  return !error_;
}

void Output::write_at(std::uint64_t offset, std::span<const unsigned char> bytes) {
  flush();
  write_all(offset, bytes);
}

// rename() replaces what has the name; a file without one has to get some other first.
int Output::give_name() {
  ::fchmod(fd_, mode_for(path_));
  for (int tries = 0; fresh_.empty(); ++tries) {
    std::string name = (folder_ / fmt::format(".ddpscope.{}.{}", ::getpid(), tries)).string();
    std::string self = fmt::format("/proc/self/fd/{}", fd_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      fresh_ = name;
    else if (errno != EEXIST || tries == 100)
      return errno;
  }
  if (::rename(fresh_.c_str(), path_.c_str()) != 0) return errno;
  fresh_.clear();
  return 0;
}

std::optional<Error> Output::finish() {
  flush();
  if (!error_) error_ = give_name();
  if (::close(std::exchange(fd_, -1)) != 0 && !error_) error_ = errno;  // NFS tells of a full disk here
  if (!error_) return std::nullopt;
  return told(error_);
}

Spool::Spool(Spool&& other) noexcept { *this = std::move(other); }

Spool& Spool::operator=(Spool&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(memory_, other.memory_);
  std::swap(buffer_, other.buffer_);
  std::swap(written_, other.written_);
  std::swap(fd_, other.fd_);
  std::swap(error_, other.error_);
  return *this;
}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
}

void Spool::append(std::span<const unsigned char> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() > memory_) spill();
}

void Spool::append(const Spool& other) {
  int error = other.for_each_part([this](std::span<const unsigned char> part) { append(part); });
  if (!error_) error_ = error;
}

void Spool::spill() {
  if (fd_ < 0 && !error_) {
    std::string name;
    fd_ = open_fresh(folder_, name);
    if (fd_ < 0) error_ = errno;
    if (!name.empty()) ::unlink(name.c_str());
  }
  if (!error_) error_ = write_at_once(fd_, written_, buffer_);
  written_ += buffer_.size();
  buffer_.clear();
}

std::span<const unsigned char> Spool::read(std::uint64_t offset, std::vector<unsigned char>& room,
                                           int& error) const {
  room.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBuffer, written_ - offset)));
  ssize_t got = ::pread(fd_, room.data(), room.size(), static_cast<off_t>(offset));
  if (got <= 0) {
    error = got < 0 ? errno : EIO;
    return {};
  }
  return {room.data(), static_cast<std::size_t>(got)};
}

}  // namespace ddpscope::merged
