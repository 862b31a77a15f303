// A file as memory, without a copy. What cannot be read of it later (it was cut off meanwhile, its disk or
// its server is gone) reads as zeros.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace ddpscope::trace {

class MappedFile {
 public:
  MappedFile() = default;
  // Of a regular file; empty if it cannot be mapped. Handles SIGBUS of the process from the first time on:
  // those of other memory go to whoever handled them before.
  static MappedFile of(int fd, std::size_t bytes);

  MappedFile(MappedFile&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~MappedFile();

  std::span<const unsigned char> bytes() const;
  bool lost() const;  // some of it could not be read when it was looked at

 private:
  explicit MappedFile(int slot) : slot_(slot) {}
  int slot_ = -1;  // -1: nothing is mapped
};

}  // namespace ddpscope::trace
