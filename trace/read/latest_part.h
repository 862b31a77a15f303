// The part of a trace file that tells what its process does now, in memory.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace ddpscope::trace {

// As many bytes as the file has, in its layout: the header, what identifies the process, all tables, every
// chunk with a call that has not returned, and the latest calls. Of the chunks between only the headers are
// there, and say that nothing is in them; of a damaged page its first bytes, so that it is found again. What
// is left out costs neither time nor memory.
class LatestPart {
 public:
  LatestPart() = default;
  // Of a regular file that may be written meanwhile; empty if there is no memory or it cannot be read.
  static LatestPart of(int fd, std::size_t bytes);

  LatestPart(LatestPart&& other) noexcept { swap(other); }
  LatestPart& operator=(LatestPart&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LatestPart();

  std::span<const unsigned char> bytes() const { return {begin_, bytes_}; }
  bool left_out_calls() const { return left_out_calls_; }  // of the kept budget, which folds collectives

 private:
  void swap(LatestPart& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    std::swap(left_out_calls_, other.left_out_calls_);
  }
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool left_out_calls_ = false;
};

}  // namespace ddpscope::trace
