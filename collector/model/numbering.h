// Numbers keys in the order in which they are met.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpscope::model {

// As large as the different keys, however often they are met. One array instead of a map's nodes: for tables
// that are as long as a trace.
template <class Key>
class Numbering {
 public:
  static constexpr std::uint32_t kUnknown = ~0u;

  explicit Numbering(std::size_t expected = 0) : slots_(std::bit_ceil(expected + expected / 2 + 2)) {}

  std::uint32_t add(Key key) {  // its number, from 0
    if (3 * (std::size_t{count_} + 1) > 2 * slots_.size()) grow();
    Slot& slot = slots_[find_slot(key)];
    if (slot.number == kUnknown) slot = {key, count_++};
    return slot.number;
  }
  bool add_new(Key key) {  // false: it was known
    std::uint32_t before = count_;
    return add(key) == before;
  }
  std::uint32_t find(Key key) const { return slots_[find_slot(key)].number; }
  std::uint32_t size() const { return count_; }

 private:
  struct Slot {
    Key key{};
    std::uint32_t number = kUnknown;  // unknown: free
  };

  std::size_t find_slot(Key key) const {
    std::size_t mask = slots_.size() - 1;
    auto at = static_cast<std::size_t>(key * std::uint64_t{0x9E3779B97F4A7C15u} >> std::countl_zero(mask));
    while (slots_[at].number != kUnknown && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> smaller(2 * slots_.size());
    smaller.swap(slots_);
    for (const Slot& slot : smaller)
      if (slot.number != kUnknown) slots_[find_slot(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace ddpscope::model
