// Tells shared semaphores apart by the mark that sem_init leaves in them, and finds their mapping.
#include "injector/threads/shared_semaphores.h"

#include <errno.h>
#include <string.h>

#include <atomic>

#include "injector/core/memory_map.h"
#include "injector/core/text_lines.h"

namespace ddpscope::injector {
namespace {

// glibc since 2.21 (sysdeps/nptl/internaltypes.h, struct new_sem): 64 bits of value and waiters, then the
// mark.
constexpr std::size_t kMarkOffset = 8;
int shared_mark;
bool layout_known;

int mark_in(const sem_t* semaphore) {
  int mark;
  memcpy(&mark, reinterpret_cast<const char*>(semaphore) + kMarkOffset, sizeof(mark));
  return mark;
}

#pragma weak sem_getvalue  // before glibc 2.34 a process may be without semaphores

// Whether the mark is where it is taken to be is asked of libc itself.
__attribute__((constructor(101))) void learn_mark() {
  if (!sem_getvalue) return;
  int saved = errno;
  sem_t own[2], shared;
  memset(own, 0, sizeof(own));
  memset(&shared, 0, sizeof(shared));
  bool made = sem_init(&own[0], 0, 1) == 0 && sem_init(&own[1], 0, 1) == 0 && sem_init(&shared, 1, 1) == 0;
  shared_mark = mark_in(&shared);
  layout_known = made && mark_in(&own[0]) == mark_in(&own[1]) && mark_in(&own[0]) != shared_mark;
  errno = saved;
}

struct Search {
  std::uintptr_t address;
  trace::payload::SharedSemaphore found;
};

bool take_mapping(const char* line, std::size_t bytes, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const Mapping mapping = parse_mapping(line, bytes);
  if (search->address < mapping.start || search->address >= mapping.end) return true;
  search->found.device = mapping.device;
  search->found.inode = mapping.inode;
  search->found.offset = mapping.offset + (search->address - mapping.start);
  return false;
}

// Found identities by address. `turn` is odd while one is being written: it is then looked for anew.
struct Known {
  std::atomic<std::uint32_t> turn;
  std::atomic<std::uintptr_t> address;
  std::atomic<std::uint64_t> device, inode, offset;
};
constexpr unsigned kKnownBits = 8;
Known known_semaphores[1u << kKnownBits];

Known& place_of(const sem_t* semaphore) {
  return known_semaphores[reinterpret_cast<std::uintptr_t>(semaphore) * 0x9E3779B97F4A7C15u >>
                          (64 - kKnownBits)];
}

bool recall(const Known& known, std::uintptr_t address, trace::payload::SharedSemaphore* out) {
  std::uint32_t turn = known.turn.load(std::memory_order_acquire);
  if (turn & 1 || known.address.load(std::memory_order_relaxed) != address) return false;
  *out = {known.device.load(std::memory_order_relaxed), known.inode.load(std::memory_order_relaxed),
          known.offset.load(std::memory_order_relaxed), 0};
  std::atomic_thread_fence(std::memory_order_acquire);
  return known.turn.load(std::memory_order_relaxed) == turn;
}

void remember(Known& known, std::uintptr_t address, const trace::payload::SharedSemaphore& found) {
  std::uint32_t turn = known.turn.load(std::memory_order_relaxed);
  if (turn & 1 || !known.turn.compare_exchange_strong(turn, turn + 1, std::memory_order_acq_rel)) return;
  std::atomic_thread_fence(std::memory_order_release);
  known.address.store(address, std::memory_order_relaxed);
  known.device.store(found.device, std::memory_order_relaxed);
  known.inode.store(found.inode, std::memory_order_relaxed);
  known.offset.store(found.offset, std::memory_order_relaxed);
  known.turn.store(turn + 2, std::memory_order_release);
}

}  // namespace

bool is_shared(const sem_t* semaphore) { return layout_known && mark_in(semaphore) == shared_mark; }

trace::payload::SharedSemaphore identify(const sem_t* semaphore) {
  auto address = reinterpret_cast<std::uintptr_t>(semaphore);
  trace::payload::SharedSemaphore identity{};
  Known& known = place_of(semaphore);
  if (recall(known, address, &identity)) return identity;
  Search search{address, {}};
  for_each_line("/proc/self/maps", take_mapping, &search);
  remember(known, address, search.found);
  return search.found;
}

void forget_identity(const sem_t* semaphore) {
  Known& known = place_of(semaphore);
  if (known.address.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(semaphore))
    remember(known, 0, {});
}

}  // namespace ddpscope::injector
