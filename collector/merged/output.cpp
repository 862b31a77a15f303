// Written in large pieces.
#include "collector/merged/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

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

constexpr const char* kWhat = "the merged file";

}  // namespace

Result<Output> Output::create(const fs::path& path) {
  if (auto planted = output::find_planted_link(kWhat, path)) return *planted;
  fs::path target = output::target_of(path);
  if (path.empty()) return output::cannot_write(kWhat, target, ENOENT);
  std::error_code unknown;
  if (fs::is_directory(target, unknown)) return output::cannot_write(kWhat, target, EISDIR);
  if (output::is_special(target))
    return Error{"cannot write the merged file: not a regular file", path.string(), "name a file with -o"};
  output::NewFile file(target);
  if (file.error()) return output::cannot_write(kWhat, target, file.error());
  return Output(std::move(file));
}

Output::Output(output::NewFile file) : file_(std::move(file)) { buffer_.reserve(kBuffer); }

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

int Output::flushed() {
  flush();
  return file_.fd();
}

bool Output::write_all(std::uint64_t offset, std::span<const unsigned char> bytes) {
  if (!error_) fail(write_at_once(file_.fd(), offset, bytes));
  return !error_;
}

void Output::write_at(std::uint64_t offset, std::span<const unsigned char> bytes) {
  flush();
  write_all(offset, bytes);
}

std::optional<Error> Output::finish() {
  flush();
  if (!error_) error_ = file_.finish();
  if (!error_) return std::nullopt;
  return output::cannot_write(kWhat, file_.target(), error_);
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

void Spool::write_at(std::uint64_t offset, unsigned char byte) {
  if (offset >= written_)
    buffer_[static_cast<std::size_t>(offset - written_)] = byte;
  else if (!error_)
    error_ = write_at_once(fd_, offset, {&byte, 1});
}

void Spool::spill() {
  if (fd_ < 0 && !error_) {
    fd_ = output::open_nameless(folder_);
    if (fd_ < 0) error_ = errno;
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
