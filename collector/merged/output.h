// The file that is written: it appears under its name whole, or not at all. And room for what has to be
// written later than it is known.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "collector/output/new_file.h"
#include "trace/result.h"

namespace ddpscope::merged {

class Spool;

// The first thing that goes wrong is kept and told by finish(); what is appended after it is dropped.
class Output {
 public:
  // Errors: no regular file; the folder cannot be written.
  static Result<Output> create(const std::filesystem::path& path);

  void append(std::span<const unsigned char> bytes);
  void append(const Spool& spool);
  void align(std::size_t bytes);  // zeros up to the next multiple
  std::uint64_t offset() const { return offset_; }
  void write_at(std::uint64_t offset, std::span<const unsigned char> bytes);

  bool failed() const { return error_ != 0; }
  void fail(int error);  // an errno of somebody who writes for this file
  // Its descriptor, once the file holds all that was appended. Until finish().
  int flushed();
  std::optional<Error> finish();  // under its name from now on
  std::filesystem::path folder() const { return file_.folder(); }
  const std::filesystem::path& target() const { return file_.target(); }

 private:
  explicit Output(output::NewFile file);
  void flush();
  bool write_all(std::uint64_t offset, std::span<const unsigned char> bytes);

  output::NewFile file_;
  int error_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<unsigned char> buffer_;  // what lies before offset_ and is not written yet
};

// Bytes that are appended now and read later: in memory while they are few, then in a file without a
// name.
class Spool {
 public:
  Spool(std::filesystem::path folder, std::size_t memory) : folder_(std::move(folder)), memory_(memory) {}
  Spool(Spool&& other) noexcept;
  Spool& operator=(Spool&& other) noexcept;
  ~Spool();

  void append(std::span<const unsigned char> bytes);
  void append(const Spool& other);
  void write_at(std::uint64_t offset, unsigned char byte);  // over one that was appended
  std::uint64_t bytes() const { return written_ + buffer_.size(); }
  int error() const { return error_; }  // errno, 0: none so far
  // Calls take(bytes) for all of it, in order.
  template <class Take>
  int for_each_part(Take&& take) const;

 private:
  void spill();
  std::span<const unsigned char> read(std::uint64_t offset, std::vector<unsigned char>& room,
                                      int& error) const;

  std::filesystem::path folder_;
  std::size_t memory_ = 0;
  std::vector<unsigned char> buffer_;
  std::uint64_t written_ = 0;  // bytes in the file
  int fd_ = -1;
  int error_ = 0;
};

template <class Take>
int Spool::for_each_part(Take&& take) const {
  int error = error_;
  std::vector<unsigned char> room;
  for (std::uint64_t at = 0; at < written_ && !error;) {
    std::span<const unsigned char> part = read(at, room, error);
    take(part);
    at += part.size();
  }
  if (!error) take(std::span<const unsigned char>(buffer_));
  return error;
}

}  // namespace ddpscope::merged
