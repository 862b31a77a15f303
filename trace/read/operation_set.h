// Sets of operations, by which records are chosen: most readers of a trace want few of them.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "trace/calls.h"

namespace ddpscope::trace {

class OperationSet {
 public:
  static constexpr unsigned kPlaces = 128;
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
    return (words_[0] & other.words_[0]) | (words_[1] & other.words_[1]);
  }
  friend constexpr OperationSet operator|(OperationSet a, const OperationSet& b) {
    return a.words_[0] |= b.words_[0], a.words_[1] |= b.words_[1], a;
  }

 private:
  static constexpr unsigned word(Operation operation) { return static_cast<unsigned>(operation) / 64; }
  static constexpr std::uint64_t bit(Operation operation) {
    return std::uint64_t{1} << static_cast<unsigned>(operation) % 64;
  }
  std::uint64_t words_[kPlaces / 64] = {};
};

}  // namespace ddpscope::trace
