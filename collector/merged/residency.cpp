// One thread reads the first byte of each page that is wanted and not there.
#include "collector/merged/residency.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace ddpscope::merged {
namespace {

// The kernel may drop pages at any time: how often it is looked whether it did.
constexpr auto kLookAgain = std::chrono::seconds(2);

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t words_for(std::size_t pieces) { return pieces / 64 + 1; }

bool bit(const std::vector<std::atomic<std::uint64_t>>& bits, std::size_t piece) {
  return bits[piece / 64].load(std::memory_order_relaxed) >> piece % 64 & 1;
}

void set(std::vector<std::atomic<std::uint64_t>>& bits, std::size_t piece, bool value) {
  std::uint64_t mask = std::uint64_t{1} << piece % 64;
  if (value)
    bits[piece / 64].fetch_or(mask, std::memory_order_relaxed);
  else
    bits[piece / 64].fetch_and(~mask, std::memory_order_relaxed);
}

}  // namespace

Residency::Residency(std::span<const unsigned char> mapped)
    : mapped_(mapped), held_(words_for(mapped.size() / kPiece)), wished_(words_for(mapped.size() / kPiece)) {}

Residency::~Residency() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Residency::pieces_of(const void* begin, std::size_t bytes, std::size_t& first, std::size_t& last) const {
  const auto* address = static_cast<const unsigned char*>(begin);
  if (bytes == 0 || address < mapped_.data() || address >= mapped_.data() + mapped_.size()) return false;
  auto offset = static_cast<std::size_t>(address - mapped_.data());
  first = offset / kPiece;
  last = (std::min(offset + bytes, mapped_.size()) - 1) / kPiece;
  return true;
}

bool Residency::holds(const void* begin, std::size_t bytes) const {
  std::size_t first, last;
  if (!pieces_of(begin, bytes, first, last)) return true;
  for (std::size_t piece = first; piece <= last; ++piece)
    if (!bit(held_, piece)) return false;
  return true;
}

void Residency::want(const void* begin, std::size_t bytes) {
  std::size_t first, last;
  if (!pieces_of(begin, bytes, first, last)) return;
  bool fresh = false;
  for (std::size_t piece = first; piece <= last; ++piece) {
    if (bit(held_, piece) || bit(wished_, piece)) continue;
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    set(wished_, piece, true);
    wishes_.push_back(static_cast<std::uint32_t>(piece));
    if (wishes_.size() > kMostWishes) {
      set(wished_, wishes_.front(), false);
      wishes_.pop_front();
    }
    fresh = true;
  }
  if (fresh) changed_.notify_one();
}

void Residency::forget_wishes() {
  std::lock_guard lock(mutex_);
  for (std::uint32_t piece : wishes_) set(wished_, piece, false);
  wishes_.clear();
}

void Residency::bring_in(const void* begin, std::size_t bytes) {
  std::size_t first, last;
  if (!pieces_of(begin, bytes, first, last)) return;
  std::size_t from = first * kPiece, to = std::min((last + 1) * kPiece, mapped_.size());
  // One call for all of it: read ahead as the disk likes it. The mapping is not written to.
  ::madvise(const_cast<unsigned char*>(mapped_.data()) + from, to - from, MADV_WILLNEED);
  for (std::size_t piece = first; piece <= last; ++piece) load(piece);
}

bool Residency::idle() const {
  std::lock_guard lock(mutex_);
  return wishes_.empty() && !loading_;
}

void Residency::forget_all() {
  for (auto& word : held_) word.store(0, std::memory_order_relaxed);
}

void Residency::load(std::size_t piece) {
  const volatile unsigned char* bytes = mapped_.data();
  std::size_t end = std::min((piece + 1) * kPiece, mapped_.size());
  for (std::size_t at = piece * kPiece; at < end; at += page_bytes()) static_cast<void>(bytes[at]);
  set(held_, piece, true);
}

// What is held but not in memory any more is not held.
void Residency::look_again() {
  std::vector<unsigned char> pages(kPiece * 1024 / page_bytes());
  std::size_t per_piece = kPiece / page_bytes();
  for (std::size_t from = 0; from < mapped_.size(); from += kPiece * 1024) {
    std::size_t bytes = std::min(kPiece * 1024, mapped_.size() - from);
    auto* begin = const_cast<unsigned char*>(mapped_.data()) + from;
    if (::mincore(begin, bytes, pages.data()) != 0) return;
    for (std::size_t page = 0; page * page_bytes() < bytes; ++page)
      if (!(pages[page] & 1)) set(held_, from / kPiece + page / per_piece, false);
  }
}

void Residency::run() {
  auto looked = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (wishes_.empty()) {
      changed_.wait_for(lock, kLookAgain);
    } else {
      std::uint32_t piece = wishes_.back();
      wishes_.pop_back();
      loading_ = true;
      lock.unlock();
      load(piece);
      lock.lock();
      set(wished_, piece, false);
      loading_ = false;
      arrivals_.fetch_add(1, std::memory_order_release);
      if (wake_ && (wishes_.empty() || arrivals_.load() % 64 == 0)) wake_();
    }
    if (auto now = std::chrono::steady_clock::now(); now - looked > kLookAgain) {
      looked = now;
      lock.unlock();
      look_again();
      lock.lock();
    }
  }
}

}  // namespace ddpscope::merged
