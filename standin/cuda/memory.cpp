// The table of pointers, and where the memory behind them comes from.
#include "standin/cuda/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory_pool.h"

namespace ddpscope::standin {
namespace {

constexpr std::size_t kAlignment = 512;
constexpr std::size_t kMapFrom =
    64 << 10;  // bytes: smaller blocks would waste mappings, of which 65530 exist

struct Table {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool counts_as_device_memory(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

// Device memory of a size that is mapped can be shared with other processes, but for what a pool hands out.
void* obtain(std::size_t bytes, bool shareable, std::uint64_t& shared_at) {
  if (bytes >= kMapFrom && shareable) {
    if (void* memory = map_shareable(bytes, shared_at)) return memory;
    shared_at = kNotShareable;
  }
  if (bytes >= kMapFrom) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, cudaErrorMemoryAllocation);
    return memory;
  }
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  require(memory != nullptr, cudaErrorMemoryAllocation);
  return std::memset(memory, 0, rounded);
}

void give_back(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::kForeign) {
    unmap_foreign(allocation.base, allocation.bytes);
  } else if (allocation.shared_at != kNotShareable) {
    unmap_shareable(allocation.base, allocation.bytes, allocation.shared_at);
  } else if (allocation.bytes >= kMapFrom) {
    munmap(allocation.base, allocation.bytes);
  } else {
    std::free(allocation.base);
  }
}

// The entry that covers `pointer`, or the end.
std::map<std::uintptr_t, Allocation>::iterator covering(const void* pointer) {
  auto& by_base = table().by_base;
  auto next = by_base.upper_bound(address(pointer));
  if (next == by_base.begin()) return by_base.end();
  const auto entry = std::prev(next);
  return address(pointer) - entry->first < entry->second.bytes ? entry : by_base.end();
}

}  // namespace

void charge(Device& device, std::size_t bytes) {
  const std::size_t before = device.bytes_allocated.fetch_add(bytes);
  if (before + bytes <= kDeviceMemoryBytes && bytes <= kDeviceMemoryBytes) return;
  device.bytes_allocated.fetch_sub(bytes);
  throw Failure{cudaErrorMemoryAllocation};
}

void* allocate(std::size_t bytes, MemoryKind kind, Device& device, unsigned flags,
               std::shared_ptr<MemoryPool> pool) {
  if (counts_as_device_memory(kind)) charge(device, bytes);
  try {
    std::uint64_t shared_at = kNotShareable;
    void* memory = obtain(bytes, kind == MemoryKind::kDevice && !pool && !(flags & kOfGraph), shared_at);
    if (pool) pool->took(bytes);
    std::unique_lock lock(table().mutex);
    table().by_base[address(memory)] = {
        static_cast<char*>(memory), bytes, kind, &device, flags, std::move(pool), shared_at};
    return memory;
  } catch (...) {
    if (counts_as_device_memory(kind)) device.bytes_allocated.fetch_sub(bytes);
    throw;
  }
}

bool release(void* pointer, MemoryKind kind) {
  Allocation allocation;
  {
    std::unique_lock lock(table().mutex);
    const auto entry = table().by_base.find(address(pointer));
    if (entry == table().by_base.end() || entry->second.kind != kind) return false;
    allocation = entry->second;
    table().by_base.erase(entry);
  }
  if (counts_as_device_memory(kind)) allocation.device->bytes_allocated.fetch_sub(allocation.bytes);
  if (allocation.pool) allocation.pool->gave_back(allocation.bytes);
  if (kind != MemoryKind::kRegistered && kind != MemoryKind::kMapped) give_back(allocation);
  return true;
}

bool register_range(void* base, std::size_t bytes, MemoryKind kind, Device* device, unsigned flags) {
  std::unique_lock lock(table().mutex);
  auto& by_base = table().by_base;
  const auto next = by_base.lower_bound(address(base));
  const bool hits_next = next != by_base.end() && next->first - address(base) < bytes;
  if (hits_next || covering(base) != by_base.end()) return false;
  by_base[address(base)] = {static_cast<char*>(base), bytes, kind, device, flags, nullptr, kNotShareable};
  return true;
}

std::optional<Allocation> find_allocation(const void* pointer) {
  std::shared_lock lock(table().mutex);
  const auto entry = covering(pointer);
  if (entry == table().by_base.end()) return std::nullopt;
  return entry->second;
}

}  // namespace ddpscope::standin
