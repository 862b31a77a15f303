// A table of parts, and pages put in their place.
#include "trace/write/lost_pages.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "trace/format.h"
#include "trace/write/file_space.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::trace {
namespace {

struct Part {
  std::atomic<std::uintptr_t> address{};  // 0: not written yet
  std::uint32_t bytes = 0;
  bool is_chunk = false;
};

constexpr std::uint32_t kMostParts = 1u << 16;
constinit Part parts[kMostParts]{};  // no memory is taken by what nobody touches
constinit std::atomic<std::uint32_t> used{};
constinit std::atomic<bool> lost{};

const Part* find_part(std::uintptr_t address) {
  std::uint32_t count = used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMostParts; ++i) {
    std::uintptr_t begin = parts[i].address.load(std::memory_order_acquire);
    if (begin && address >= begin && address - begin < parts[i].bytes) return &parts[i];
  }
  return nullptr;
}

}  // namespace

void note_mapped_part(void* address, std::size_t bytes, bool is_chunk) {
  std::uint32_t number = used.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMostParts) {
    used.store(kMostParts, std::memory_order_relaxed);
    return;
  }
  parts[number].bytes = static_cast<std::uint32_t>(bytes);
  parts[number].is_chunk = is_chunk;
  parts[number].address.store(reinterpret_cast<std::uintptr_t>(address), std::memory_order_release);
}

// The page is moved to its place when it is whole: another thread may read the header at any time.
bool replace_lost_page(void* address) {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  const Part* part = find_part(at);
  if (!part) return false;
  lost.store(true, std::memory_order_relaxed);
  auto* page = static_cast<ChunkHeader*>(map_private(kPageBytes));
  if (!page) return false;
  std::uintptr_t place = at / kPageBytes * kPageBytes;
  if (part->is_chunk && place == part->address.load(std::memory_order_relaxed)) page->bytes = part->bytes;
  constexpr long kMoveTo = 1 | 2;  // MREMAP_MAYMOVE | MREMAP_FIXED
  long moved =
      raw_syscall(SYS_mremap, as_argument(page), kPageBytes, kPageBytes, kMoveTo, static_cast<long>(place));
  return moved == static_cast<long>(place);
}

bool has_lost_pages() { return lost.load(std::memory_order_relaxed); }

void forget_lost_pages() { lost.store(false, std::memory_order_relaxed); }

}  // namespace ddpscope::trace
