// Writes files so that a reader sees the old content or the new, never a part: temporary file, fsync, rename.
#include "atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "check.h"

namespace reference_trainer {

void write_in_place(const std::filesystem::path& path, std::span<const Bytes> parts) {
  const int file =
      check_system(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), path.native());
  for (Bytes rest : parts) {
    while (!rest.empty()) {
      const ssize_t written = check_system(write(file, rest.data(), rest.size()), path.native());
      rest = rest.subspan(written);
    }
  }
  check_system(fsync(file), path.native());
  check_system(close(file), path.native());
}

void write_in_place(const std::filesystem::path& path, std::string_view text) {
  const Bytes part = std::as_bytes(std::span(text));
  write_in_place(path, std::span(&part, 1));
}

// Processes of two hosts may have one number.
std::filesystem::path temporary_of(const std::filesystem::path& path) {
  return path.native() + fmt::format(".{}.{}.tmp", getpid(), std::random_device{}());
}

void write_atomically(const std::filesystem::path& path, std::span<const Bytes> parts) {
  const std::filesystem::path temporary = temporary_of(path);
  write_in_place(temporary, parts);
  check_system(rename(temporary.c_str(), path.c_str()), path.native());
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  const Bytes part = std::as_bytes(std::span(text));
  write_atomically(path, std::span(&part, 1));
}

std::string read_text(const std::filesystem::path& path) {
  const int file = check_system(open(path.c_str(), O_RDONLY | O_CLOEXEC), path.native());
  std::string text;
  char block[1 << 16];
  for (ssize_t got; (got = check_system(read(file, block, sizeof block), path.native())) > 0;)
    text.append(block, got);
  close(file);
  return text;
}

}  // namespace reference_trainer
