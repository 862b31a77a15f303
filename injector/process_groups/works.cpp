// A cache in static storage, without a lock: an old entry makes room.
#include "injector/process_groups/works.h"

namespace ddpscope::injector {
namespace {

struct Entry {
  const void* work;         // __atomic
  std::uint64_t operation;  // __atomic
  std::uint64_t count;      // __atomic
};
constexpr std::uint32_t kSets = 1024, kWays = 4;
struct Set {
  Entry ways[kWays];
  std::uint32_t next;  // __atomic; the way that makes room
};
Set sets[kSets];

Set& set_of(const void* work) {
  return sets[reinterpret_cast<std::uintptr_t>(work) * 0x9E3779B97F4A7C15u >> 54];
}
static_assert(kSets == 1u << (64 - 54));

}  // namespace

void remember_work(const void* work, const KnownWork& known) {
  if (!work) return;
  Set& set = set_of(work);
  Entry* place = nullptr;
  for (Entry& entry : set.ways)
    if (__atomic_load_n(&entry.work, __ATOMIC_ACQUIRE) == work) place = &entry;
  if (!place) place = &set.ways[__atomic_fetch_add(&set.next, 1, __ATOMIC_RELAXED) % kWays];
  bool same = place->work == work;
  if (!same) __atomic_store_n(&place->work, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
  __atomic_store_n(&place->count, known.count, __ATOMIC_RELEASE);
  __atomic_store_n(&place->operation, known.operation, __ATOMIC_RELEASE);
  if (!same) __atomic_store_n(&place->work, work, __ATOMIC_RELEASE);
}

KnownWork find_work(const void* work) {
  for (Entry& entry : set_of(work).ways) {
    if (__atomic_load_n(&entry.work, __ATOMIC_ACQUIRE) != work) continue;
    KnownWork known{__atomic_load_n(&entry.operation, __ATOMIC_ACQUIRE),
                    __atomic_load_n(&entry.count, __ATOMIC_ACQUIRE)};
    if (__atomic_load_n(&entry.work, __ATOMIC_ACQUIRE) == work) return known;
  }
  return {};
}

}  // namespace ddpscope::injector
