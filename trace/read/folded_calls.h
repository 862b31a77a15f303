// A chunk of folded calls, 8 bytes each, as the records that they stand for: 64 bytes each, so they are made
// when they are asked for.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/format.h"

namespace ddpscope::trace {

class FoldedCalls {
 public:
  // `chunk`: a kFolded chunk from its header to its end; cut off, it has lost its signatures. It has to
  // outlive this.
  explicit FoldedCalls(std::span<const unsigned char> chunk);

  std::size_t size() const { return size_; }
  bool sound() const {
    return sound_;
  }  // false: a word names a signature that is not there; what follows is lost

  static constexpr std::size_t kStretch = 64;
  // The calls of a stretch, the last one shorter: in the order in which they were begun, an open one behind
  // all others. Returns how many.
  std::size_t unfold(std::size_t stretch, std::span<Record, kStretch> records) const;

 private:
  using Sequences =
      std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // communicator, its next call's number
  // What the words before a stretch have left.
  struct State {
    std::uint32_t at = 0;  // of the next word, behind the chunk's header
    std::uint64_t begin = 0, long_duration = 0;
    Sequences sequences{};
  };
  enum class Word : std::uint8_t { kSets, kCall, kUnknown };

  Word take(State& state, Record& call) const;
  void add_sequence(State& state, Record& call) const;
  static std::uint32_t& next_of(State& state, std::uint32_t communicator);

  std::span<const unsigned char> chunk_;
  std::uint32_t end_ = 0;  // of the words
  std::size_t signatures_ = 0;
  std::size_t size_ = 0;
  bool open_ = false, sound_ = true;
  std::vector<State> stretches_;
};

}  // namespace ddpscope::trace
