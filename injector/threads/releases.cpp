// Four places an object; a set that is full forgets the object that has been silent for longest. A program
// has a thousand mutexes at addresses that differ from run to run: with two places every other run would
// forget something, with four one in five hundred.
#include "injector/threads/releases.h"

namespace ddpscope::injector {

constinit Releases release_table[1u << kReleaseBits]{};
std::uint64_t release_epoch;

namespace {

constexpr unsigned kEpochShift = 48;
constexpr std::uint64_t kInTransit = 1, kForgotten = 2;  // no object has these addresses

constinit std::atomic<std::uint32_t> last_number{};

// Direct-mapped: what is pushed out is taken, or released, and recorded once more.
struct alignas(16) MemoryEntry {
  std::atomic<std::uint64_t> tag{};
  std::atomic<std::uint64_t> word{};
};
constexpr unsigned kMemoryBits = 14;
constinit MemoryEntry memories[1u << kMemoryBits]{};

std::uint64_t tag_of(std::uint64_t key, std::uint16_t thread, std::uint64_t purpose) {
  std::uint64_t tag =
      (key ^ purpose * 0xD6E8FEB86659FD93u ^ thread * 0xA24BAED4963EE407u) * 0x9E3779B97F4A7C15u;
  return (tag ^ tag >> 31) | 1;
}

MemoryEntry& entry_of(std::uint64_t tag) { return memories[tag >> (64 - kMemoryBits)]; }

bool belongs_to_now(std::uint64_t key) {
  return key > kForgotten && key >> kEpochShift == release_epoch >> kEpochShift;
}

std::uint64_t latest_position(const Releases& releases) {
  std::uint64_t latest = 0;
  for (const auto& position : releases.positions) {
    std::uint64_t p = position.load(std::memory_order_relaxed);
    if (p > latest) latest = p;
  }
  return latest;
}

// Versions go on from where they are: an object that comes back must not look like one that was taken.
Releases* take_place(std::uint64_t key, bool* lost) {
  Releases* home = home_of(key);
  Releases* place = nullptr;
  std::uint64_t old = 0, silent_since = 0;
  for (std::size_t way = 0; way < kWays; ++way) {
    Releases* at = place_in_set(home, way);
    std::uint64_t held = at->key.load(std::memory_order_relaxed);
    bool free = !belongs_to_now(held);
    std::uint64_t position = free ? 0 : latest_position(*at);
    if (place && !free && position >= silent_since) continue;
    place = at;
    old = held;
    silent_since = position;
    if (free) break;
  }
  if (old == kInTransit || !place->key.compare_exchange_strong(old, kInTransit, std::memory_order_acquire))
    return nullptr;
  *lost = belongs_to_now(old);
  place->threads.store(0, std::memory_order_relaxed);
  place->number.store(0, std::memory_order_relaxed);
  for (auto& position : place->positions) position.store(0, std::memory_order_relaxed);
  place->key.store(key, std::memory_order_release);
  return place;
}

int take_lane(Releases& releases, std::uint16_t thread) {
  Lanes threads = releases.threads.load(std::memory_order_relaxed);
  for (;;) {
    int lane = find_lane(threads, thread);
    if (lane >= 0) return lane;
    lane = find_lane(threads, 0);
    if (lane < 0) return -1;
    Lanes next = threads | Lanes{thread} << 16 * lane;
    if (releases.threads.compare_exchange_weak(threads, next, std::memory_order_acq_rel)) return lane;
  }
}

}  // namespace

Claim claim_releases(std::uint64_t key, std::uint16_t thread) {
  Claim claim{find_releases(key), -1, false};
  for (int tries = 0; !claim.releases && tries < 4; ++tries) {
    claim.releases = take_place(key, &claim.object_lost);
    if (!claim.releases) claim.releases = find_releases(key);  // another thread's, for the same object
  }
  if (claim.releases) claim.lane = take_lane(*claim.releases, thread);
  return claim;
}

void begin_number(Releases& releases) {
  releases.number.store(last_number.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::uint32_t number_of(Releases& releases) {
  std::uint32_t number = releases.number.load(std::memory_order_acquire);
  if (number) return number;
  std::uint32_t next = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return releases.number.compare_exchange_strong(number, next, std::memory_order_acq_rel) ? next : number;
}

void forget_releases(const void* object) {
  std::uint64_t key = key_of(object);
  while (Releases* releases = find_releases(key)) {
    std::uint64_t expected = key;
    releases->key.compare_exchange_strong(expected, kForgotten, std::memory_order_relaxed);
  }
}

Memory recall(std::uint64_t key, std::uint16_t thread, std::uint64_t purpose) {
  std::uint64_t tag = tag_of(key, thread, purpose);
  MemoryEntry& entry = entry_of(tag);
  if (entry.tag.load(std::memory_order_acquire) != tag) return {0, false};
  std::uint64_t word = entry.word.load(std::memory_order_acquire);
  if (entry.tag.load(std::memory_order_relaxed) != tag) return {0, false};
  return {word, true};
}

void remember(std::uint64_t key, std::uint16_t thread, std::uint64_t purpose, std::uint64_t word) {
  std::uint64_t tag = tag_of(key, thread, purpose);
  MemoryEntry& entry = entry_of(tag);
  entry.tag.store(0, std::memory_order_relaxed);  // in between it is nobody's
  entry.word.store(word, std::memory_order_release);
  entry.tag.store(tag, std::memory_order_release);
}

void forget_all_releases() { release_epoch += std::uint64_t{1} << kEpochShift; }

}  // namespace ddpscope::injector
