// Two places an object; a set that is full forgets the object that has been silent for longest.
#include "injector/threads/releases.h"

namespace ddpscope::injector {

constinit Releases release_table[1u << kReleaseBits]{};
std::uint64_t release_epoch;

namespace {

constexpr unsigned kEpochShift = 48;
constexpr std::uint64_t kInTransit = 1;  // no object has this address

// Direct-mapped: what is pushed out is taken, and recorded, once more.
struct alignas(16) TakenEntry {
  std::atomic<std::uint64_t> tag{};
  std::atomic<Lanes> versions{};
};
constexpr unsigned kTakenBits = 14;
constinit TakenEntry taken_table[1u << kTakenBits]{};

std::uint64_t tag_of(std::uint64_t key, std::uint16_t thread, std::uint64_t place) {
  std::uint64_t tag =
      (key ^ place * 0xD6E8FEB86659FD93u ^ thread * 0xA24BAED4963EE407u) * 0x9E3779B97F4A7C15u;
  return (tag ^ tag >> 31) | 1;
}

TakenEntry& entry_of(std::uint64_t tag) { return taken_table[tag >> (64 - kTakenBits)]; }

bool belongs_to_now(std::uint64_t key) {
  return key > kInTransit && key >> kEpochShift == release_epoch >> kEpochShift;
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
  Releases* places[] = {home_of(key), second_home_of(key)};
  std::uint64_t keys[] = {places[0]->key.load(std::memory_order_relaxed),
                          places[1]->key.load(std::memory_order_relaxed)};
  int which = !belongs_to_now(keys[0])                                     ? 0
              : !belongs_to_now(keys[1])                                   ? 1
              : latest_position(*places[0]) <= latest_position(*places[1]) ? 0
                                                                           : 1;
  Releases* place = places[which];
  std::uint64_t old = keys[which];
  if (old == kInTransit || !place->key.compare_exchange_strong(old, kInTransit, std::memory_order_acquire))
    return nullptr;
  *lost = belongs_to_now(old);
  place->threads.store(0, std::memory_order_relaxed);
  place->crowded.store(0, std::memory_order_relaxed);
  for (auto& position : place->positions) position.store(0, std::memory_order_relaxed);
  place->key.store(key, std::memory_order_release);
  return place;
}

int least_lane(const Releases& releases) {
  int least = 0;
  for (int i = 1; i < kLanes; ++i)
    if (releases.positions[i].load(std::memory_order_relaxed) <
        releases.positions[least].load(std::memory_order_relaxed))
      least = i;
  return least;
}

int take_lane(Releases& releases, std::uint16_t thread, bool* pushed_out) {
  Lanes threads = releases.threads.load(std::memory_order_relaxed);
  for (int tries = 0; tries < 8; ++tries) {
    int lane = find_lane(threads, thread);
    if (lane >= 0) return lane;
    lane = find_lane(threads, 0);
    bool full = lane < 0;
    if (full) lane = least_lane(releases);
    Lanes next = (threads & ~lane_mask(lane)) | Lanes{thread} << 16 * lane;
    if (!releases.threads.compare_exchange_weak(threads, next, std::memory_order_acq_rel)) continue;
    if (full) {
      *pushed_out = true;
      releases.positions[lane].store(0, std::memory_order_relaxed);
      releases.crowded.store(1, std::memory_order_relaxed);
    }
    return lane;
  }
  return -1;
}

}  // namespace

Claim claim_releases(std::uint64_t key, std::uint16_t thread) {
  Claim claim{find_releases(key), -1, false, false};
  for (int tries = 0; !claim.releases && tries < 4; ++tries) {
    claim.releases = take_place(key, &claim.object_lost);
    if (!claim.releases) claim.releases = find_releases(key);  // another thread's, for the same object
  }
  if (claim.releases) claim.lane = take_lane(*claim.releases, thread, &claim.lane_lost);
  if (claim.lane < 0) claim.releases = nullptr;
  return claim;
}

void forget_releases(const void* object) {
  std::uint64_t key = key_of(object);
  while (Releases* releases = find_releases(key)) {
    std::uint64_t expected = key;
    releases->key.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
  }
}

Taken taken_so_far(std::uint64_t key, std::uint16_t thread, std::uint64_t place) {
  std::uint64_t tag = tag_of(key, thread, place);
  TakenEntry& entry = entry_of(tag);
  if (entry.tag.load(std::memory_order_acquire) != tag) return {0, false};
  Lanes versions = entry.versions.load(std::memory_order_acquire);
  return {versions, entry.tag.load(std::memory_order_relaxed) == tag};
}

void note_taken(std::uint64_t key, std::uint16_t thread, std::uint64_t place, Lanes versions) {
  std::uint64_t tag = tag_of(key, thread, place);
  TakenEntry& entry = entry_of(tag);
  entry.tag.store(0, std::memory_order_relaxed);  // in between it is nobody's
  entry.versions.store(versions, std::memory_order_release);
  entry.tag.store(tag, std::memory_order_release);
}

void forget_all_releases() { release_epoch += std::uint64_t{1} << kEpochShift; }

}  // namespace ddpscope::injector
