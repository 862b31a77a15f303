// What threads of this process released and others may still take, by the address of the object: no lock, no
// allocation, no system call, so that unlocks, signals and posts can be noted wherever they are made. An
// object has room for the first few threads; those that come later say in records of their own what they
// release.
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>

namespace ddpscope::injector {

constexpr int kLanes = 4;  // threads that an object remembers

// Four numbers of 16 bits, one a lane, as one word.
using Lanes = std::uint64_t;
constexpr Lanes kEachLane = 0x0001'0001'0001'0001;
constexpr Lanes lane_mask(int lane) { return Lanes{0xFFFF} << 16 * lane; }
constexpr std::uint16_t lane_value(Lanes lanes, int lane) {
  return static_cast<std::uint16_t>(lanes >> 16 * lane);
}
// The lane that holds this number, -1 for none.
constexpr int find_lane(Lanes lanes, std::uint16_t number) {
  Lanes differing = lanes ^ number * kEachLane;
  Lanes equal = (differing - kEachLane) & ~differing & 0x8000 * kEachLane;
  return equal ? std::countr_zero(equal) / 16 : -1;
}
static_assert(find_lane(0x0003'0000'0002'0001, 1) == 0 && find_lane(0x0003'0000'0002'0001, 3) == 3 &&
              find_lane(0x0003'0000'0002'0001, 0) == 2 && find_lane(0x0003'0004'0002'0001, 0x0103) == -1);

// The releases of one object: for each of some threads the last position of it that it has made known, in the
// ticks of its records. Only the thread that a lane belongs to writes it, and it keeps the lane: to take one
// from a thread that is just releasing would take a lock.
struct alignas(64) Releases {
  std::atomic<std::uint64_t> key{};
  std::atomic<Lanes> threads{};   // record thread numbers, 0: free
  std::atomic<Lanes> versions{};  // counted up with each release that says something new; never start anew
  std::atomic<std::uint64_t> positions[kLanes]{};
  std::atomic<std::uint32_t>
      number{};  // of the records that say what threads without a lane release; see below
  std::atomic<std::uint32_t> recorded{};  // how many there were; never starts anew

  // A look at all lanes. A position may be newer than its version, never older.
  struct View {
    Lanes threads, versions;
    std::uint64_t positions[kLanes];
  };
  View view() const {
    View v{threads.load(std::memory_order_acquire), versions.load(std::memory_order_acquire), {}};
    for (int i = 0; i < kLanes; ++i) v.positions[i] = positions[i].load(std::memory_order_relaxed);
    return v;
  }
};

constexpr unsigned kReleaseBits = 15;
extern Releases release_table[1u << kReleaseBits];
extern std::uint64_t release_epoch;  // upper bits: what a parent released before fork() is not the child's

// Addresses of the guest have 47 bits.
inline std::uint64_t key_of(const void* object) {
  return reinterpret_cast<std::uint64_t>(object) ^ release_epoch;
}
inline Releases* home_of(std::uint64_t key) {
  return &release_table[key * 0x9E3779B97F4A7C15u >> (64 - kReleaseBits)];
}
// The places where an object may be: its home first, in which it nearly always is.
constexpr std::size_t kWays = 4;
inline Releases* place_in_set(Releases* home, std::size_t way) {
  return &release_table[static_cast<std::size_t>(home - release_table) ^ way];
}

// nullptr: nothing was released there, or it is forgotten. Who finds its home taken goes elsewhere; a home
// that was never taken has sent nobody away.
inline Releases* find_releases(std::uint64_t key) {
  Releases* home = home_of(key);
  std::uint64_t at_home = home->key.load(std::memory_order_acquire);
  if (at_home == key) [[likely]]
    return home;
  if (!at_home) return nullptr;
  for (std::size_t way = 1; way < kWays; ++way) {
    Releases* place = place_in_set(home, way);
    if (place->key.load(std::memory_order_acquire) == key) return place;
  }
  return nullptr;
}

// Room for this thread's releases of an object.
struct Claim {
  Releases* releases;  // nullptr: threads interfered
  int lane;            // -1: others have them all
  bool object_lost;    // all that had been released of another object is forgotten
};
Claim claim_releases(std::uint64_t key, std::uint16_t thread);

// Makes a position of the thread that owns the lane known.
inline void publish(Releases& releases, int lane, std::uint64_t position) {
  releases.positions[lane].store(position, std::memory_order_relaxed);
  Lanes versions = releases.versions.load(std::memory_order_relaxed), next;
  do {
    next = (versions & ~lane_mask(lane)) | ((versions + (Lanes{1} << 16 * lane)) & lane_mask(lane));
  } while (!releases.versions.compare_exchange_weak(versions, next, std::memory_order_release,
                                                    std::memory_order_relaxed));
}

// Which records of releases belong together; no other object of this process ever has this number. Of a lock
// or a semaphore all that were made since it was first seen; of a condition those since the latest wait
// began.
std::uint32_t number_of(Releases& releases);
void begin_number(Releases& releases);

// The object is new, or gone.
void forget_releases(const void* object);

// What a thread remembers of an object, by a purpose of its own; 0 if it is not known. It may be forgotten at
// any time.
struct Memory {
  std::uint64_t word;
  bool known;
};
Memory recall(std::uint64_t key, std::uint16_t thread, std::uint64_t purpose);
void remember(std::uint64_t key, std::uint16_t thread, std::uint64_t purpose, std::uint64_t word);

// In the child of fork(): nothing was released yet.
void forget_all_releases();

}  // namespace ddpscope::injector
