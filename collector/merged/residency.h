// Which parts of a mapped file are in memory: whoever draws asks here first and never waits for the disk.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace ddpscope::merged {

// A thread of its own brings in what is wanted, newest wish first, in pieces of kPiece bytes. All but
// on_arrival may be called by any thread at any time.
class Residency {
 public:
  static constexpr std::size_t kPiece = 64 * 1024;

  explicit Residency(std::span<const unsigned char> mapped);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // Of bytes within the mapping; others count as resident. No system call.
  bool holds(const void* begin, std::size_t bytes) const;
  // Returns at once. What is held already costs nothing. Wishes beyond kMostWishes push out the oldest.
  void want(const void* begin, std::size_t bytes);
  // Drops wishes that nobody waits for any more: the view has moved on.
  void forget_wishes();
  // Waits until it is there: for programs that do not draw.
  void bring_in(const void* begin, std::size_t bytes);

  std::uint64_t arrivals() const { return arrivals_.load(std::memory_order_acquire); }  // grows
  bool idle() const;  // nothing is wanted that is not there
  // Called by the thread after something has come: to wake a loop that sleeps. Set before the first want().
  void on_arrival(std::function<void()> wake) { wake_ = std::move(wake); }
  // For tests and --bench: as if all had been thrown out of memory.
  void forget_all();

 private:
  static constexpr std::size_t kMostWishes = 65536;  // pieces

  void run();
  // False: nothing of it lies in the mapping.
  bool pieces_of(const void* begin, std::size_t bytes, std::size_t& first, std::size_t& last) const;
  void load(std::size_t piece);
  void look_again();  // the kernel may have thrown out what was there

  std::span<const unsigned char> mapped_;
  std::vector<std::atomic<std::uint64_t>> held_;    // a bit a piece
  std::vector<std::atomic<std::uint64_t>> wished_;  // likewise: stands in wishes_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::uint32_t> wishes_;  // pieces
  bool stopping_ = false, loading_ = false;
  std::atomic<std::uint64_t> arrivals_{0};
  std::function<void()> wake_;
  std::thread thread_;
};

}  // namespace ddpscope::merged
