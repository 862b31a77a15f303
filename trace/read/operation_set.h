// Sets of operations, by which records are chosen: most readers of a trace want few of them.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "trace/calls.h"

namespace ddpscope::trace {

class OperationSet {
 public:
  static constexpr unsigned kPlaces = 192;
  static constexpr unsigned kOperations = 1  // kNone
#define DDPSCOPE_OPERATION(name) +1
#include "trace/operations.def"
#undef DDPSCOPE_OPERATION
      ;
  static_assert(kOperations <= kPlaces);

  constexpr OperationSet() = default;
  constexpr OperationSet(std::initializer_list<Operation> operations) {
    for (Operation operation : operations) add(operation);
  }
  static constexpr OperationSet all() { return range(Operation::kNone, static_cast<Operation>(kPlaces - 1)); }
  // Both ends included.
  static constexpr OperationSet range(Operation first, Operation last) {
    OperationSet set;
    for (auto i = static_cast<unsigned>(first); i <= static_cast<unsigned>(last); ++i)
      set.add(static_cast<Operation>(i));
    return set;
  }

  constexpr void add(Operation operation) { words_[word(operation)] |= bit(operation); }
  constexpr bool has(Operation operation) const { return words_[word(operation)] & bit(operation); }
  constexpr bool meets(const OperationSet& other) const {
    std::uint64_t both = 0;
    for (unsigned i = 0; i < kWords; ++i) both |= words_[i] & other.words_[i];
    return both;
  }
  friend constexpr OperationSet operator|(OperationSet a, const OperationSet& b) {
    for (unsigned i = 0; i < kWords; ++i) a.words_[i] |= b.words_[i];
    return a;
  }

 private:
  static constexpr unsigned kWords = kPlaces / 64;
  static constexpr unsigned word(Operation operation) { return static_cast<unsigned>(operation) / 64; }
  static constexpr std::uint64_t bit(Operation operation) {
    return std::uint64_t{1} << static_cast<unsigned>(operation) % 64;
  }
  std::uint64_t words_[kWords] = {};
};

}  // namespace ddpscope::trace
