// A fixed number of places that threads and signal handlers take and give back without a lock.
#pragma once
#include <atomic>
#include <cstdint>

namespace ddpscope::injector {

// Slot has a member `std::atomic<std::uint32_t> references`. In static storage all places are free. A place
// keeps its bytes when it is given back: whoever still looks at it (a race of the guest's) sees old or new
// content, never unmapped memory.
template <class Slot, std::uint32_t kSlots>
class Pool {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // A place with one reference, its content as the last owner left it; kNone: all are taken.
  std::uint32_t take() {
    for (std::uint32_t tries = 0; tries < kSlots; ++tries) {
      std::uint32_t index = next_.fetch_add(1, std::memory_order_relaxed) % kSlots;
      std::uint32_t free = 0;
      if (slots_[index].references.compare_exchange_strong(free, 1, std::memory_order_acquire)) return index;
    }
    return kNone;
  }
  Slot& operator[](std::uint32_t index) { return slots_[index]; }

  void retain(std::uint32_t index) { slots_[index].references.fetch_add(1, std::memory_order_relaxed); }
  // True for the last reference.
  bool release(std::uint32_t index) {
    return slots_[index].references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  // Places below this may have been used.
  std::uint32_t used() const {
    std::uint32_t next = next_.load(std::memory_order_relaxed);
    return next < kSlots ? next : kSlots;
  }

 private:
  Slot slots_[kSlots]{};
  std::atomic<std::uint32_t> next_{};
};

}  // namespace ddpscope::injector
