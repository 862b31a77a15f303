// Memory is a range of the process's file, so that it can be mapped anywhere, more than once, and elsewhere.
#include "standin/cuda/virtual_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/shared_memory.h"

namespace ddpscope::standin {
namespace {

struct Memory {
  Device* device;
  SharedRange range;
  bool own;               // of this process's file
  bool exported = false;  // others may hold it, and nothing says when they no longer do
  int handles = 1;        // how often cuMemRelease() is still due
  int mappings = 0;
};

struct Mapping {
  std::size_t bytes;
  std::uint64_t memory;
  std::map<int, MemoryAccess> access = {};  // by device
};

// What an exported descriptor's file holds.
struct Ticket {
  std::uint64_t mark;
  std::int32_t physical_device;
  SharedRange range;
};
constexpr std::uint64_t kMark = 0x6d656d6f72790001;

struct State {
  std::mutex mutex;
  std::map<std::uint64_t, Memory> memory;  // by handle
  std::uint64_t next_handle = 1;
  std::map<std::uintptr_t, std::size_t> reserved;  // bytes, by address
  std::map<std::uintptr_t, Mapping> mapped;        // by address
};

State& state() {
  static auto* const instance = new State;
  return *instance;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

bool is_whole(std::uintptr_t value) { return value % kMemoryGranularity == 0; }

void require_whole(const void* address, std::size_t bytes) {
  require(address && bytes && is_whole(number(address)) && is_whole(bytes), cudaErrorInvalidValue);
}

// Memory that only mappings hold has no handle any more.
Memory& memory_of(std::uint64_t handle) {
  auto found = state().memory.find(handle);
  require(found != state().memory.end() && found->second.handles > 0, cudaErrorInvalidValue);
  return found->second;
}

std::map<std::uintptr_t, Mapping>::iterator mapping_at(const void* address) {
  auto next = state().mapped.upper_bound(number(address));
  require(next != state().mapped.begin(), cudaErrorInvalidValue);
  auto entry = std::prev(next);
  require(number(address) - entry->first < entry->second.bytes, cudaErrorInvalidValue);
  return entry;
}

bool any_mapped(std::uintptr_t address, std::size_t bytes) {
  auto next = state().mapped.lower_bound(address + bytes);
  return next != state().mapped.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address;
}

// Calls `each` for the mappings that fill a range; fails before the first where they do not fill just that.
template <class Each>
void for_each_mapping(void* address, std::size_t bytes, Each&& each) {
  require_whole(address, bytes);
  auto first = state().mapped.find(number(address));
  std::size_t filled = 0;
  for (auto entry = first; filled < bytes; ++entry) {
    require(entry != state().mapped.end() && entry->first == number(address) + filled, cudaErrorInvalidValue);
    filled += entry->second.bytes;
  }
  require(filled == bytes, cudaErrorInvalidValue);
  for (auto entry = first; filled > 0;) {
    auto here = entry++;
    filled -= here->second.bytes;
    each(here);
  }
}

// If nothing holds it any more.
void give_back(std::map<std::uint64_t, Memory>::iterator entry) {
  Memory& memory = entry->second;
  if (memory.handles || memory.mappings) return;
  if (memory.own) {
    memory.device->bytes_allocated.fetch_sub(memory.range.bytes);
    if (!memory.exported) give_room_back(memory.range.offset, memory.range.bytes);
  }
  state().memory.erase(entry);
}

std::uint64_t enter_memory(const Memory& memory) {
  std::uint64_t handle = state().next_handle++;
  state().memory.emplace(handle, memory);
  return handle;
}

template <class Body>
cudaError_t locked(Body&& body) {
  return guarded([&] {
    std::lock_guard lock(state().mutex);
    body();
    return cudaSuccess;
  });
}

cudaError_t create(int device, std::size_t bytes, std::uint64_t* handle) {
  return locked([&] {
    require(bytes && is_whole(bytes), cudaErrorInvalidValue);
    Device& owner = device_at(device);
    owner.activate();
    charge(owner, bytes);
    auto offset = find_room(bytes);
    if (!offset) {
      owner.bytes_allocated.fetch_sub(bytes);
      throw Failure{cudaErrorNotSupported};
    }
    *handle = enter_memory({&owner, share(*offset, bytes), true});
  });
}

cudaError_t release_handle(std::uint64_t handle) {
  return locked([&] {
    --memory_of(handle).handles;
    give_back(state().memory.find(handle));
  });
}

cudaError_t retain(const void* mapped, std::uint64_t* handle) {
  return locked([&] {
    *handle = mapping_at(mapped)->second.memory;
    ++state().memory.at(*handle).handles;
  });
}

cudaError_t device_of(std::uint64_t handle, int* device) {
  return locked([&] { *device = memory_of(handle).device->ordinal(); });
}

// More than is asked for, and what is beyond an aligned range given back.
cudaError_t reserve(std::size_t bytes, std::size_t alignment, void* wanted, void** address) {
  return locked([&] {
    require(bytes && is_whole(bytes) && (alignment & (alignment - 1)) == 0, cudaErrorInvalidValue);
    alignment = std::max(alignment, kMemoryGranularity);
    require(bytes + alignment > bytes, cudaErrorMemoryAllocation);
    void* room = reserve_addresses(wanted, bytes + alignment);
    require(room != nullptr, cudaErrorMemoryAllocation);
    const std::size_t before = (alignment - number(room) % alignment) % alignment;
    char* begin = static_cast<char*>(room) + before;
    if (before) give_addresses_back(room, before);
    give_addresses_back(begin + bytes, alignment - before);
    state().reserved.emplace(number(begin), bytes);
    *address = begin;
  });
}

cudaError_t unreserve(void* address, std::size_t bytes) {
  return locked([&] {
    auto found = state().reserved.find(number(address));
    require(found != state().reserved.end() && found->second == bytes, cudaErrorInvalidValue);
    require(!any_mapped(number(address), bytes), cudaErrorInvalidValue);
    give_addresses_back(address, bytes);
    state().reserved.erase(found);
  });
}

cudaError_t map(void* address, std::size_t bytes, std::uint64_t handle) {
  return locked([&] {
    require_whole(address, bytes);
    auto next = state().reserved.upper_bound(number(address));
    require(next != state().reserved.begin(), cudaErrorInvalidValue);
    const auto& [begin, reserved] = *std::prev(next);
    require(number(address) - begin <= reserved && bytes <= reserved - (number(address) - begin),
            cudaErrorInvalidValue);
    require(!any_mapped(number(address), bytes), cudaErrorInvalidValue);
    Memory& memory = memory_of(handle);
    require(bytes <= memory.range.bytes, cudaErrorInvalidValue);
    require(map_range_at(address, bytes, memory.range, memory.own), cudaErrorMemoryAllocation);
    register_range(address, bytes, MemoryKind::kMapped, memory.device, 0);
    ++memory.mappings;
    state().mapped.emplace(number(address), Mapping{bytes, handle});
  });
}

cudaError_t unmap(void* address, std::size_t bytes) {
  return locked([&] {
    for_each_mapping(address, bytes, [&](auto entry) {
      void* begin = reinterpret_cast<void*>(entry->first);
      release(begin, MemoryKind::kMapped);
      reserve_addresses_at(begin, entry->second.bytes);
      auto memory = state().memory.find(entry->second.memory);
      --memory->second.mappings;
      give_back(memory);
      state().mapped.erase(entry);
    });
  });
}

cudaError_t allow(void* address, std::size_t bytes, int device, MemoryAccess access) {
  return locked([&] {
    device_at(device);
    for_each_mapping(address, bytes, [&](auto entry) {
      Mapping& mapping = entry->second;
      mapping.access[device] = access;
      MemoryAccess most;
      for (const auto& [of, allowed] : mapping.access)
        most = {most.read || allowed.read, most.write || allowed.write};
      const int protection = (most.read ? PROT_READ : 0) | (most.write ? PROT_READ | PROT_WRITE : 0);
      require(syscall(SYS_mprotect, entry->first, mapping.bytes, protection) == 0, cudaErrorMemoryAllocation);
    });
  });
}

cudaError_t access_of(const void* mapped, int device, MemoryAccess* access) {
  return locked([&] {
    device_at(device);
    const auto& known = mapping_at(mapped)->second.access;
    auto found = known.find(device);
    *access = found == known.end() ? MemoryAccess{} : found->second;
  });
}

cudaError_t export_memory(std::uint64_t handle, int* descriptor) {
  return locked([&] {
    Memory& memory = memory_of(handle);
    const Ticket ticket{kMark, memory.device->physical(), memory.range};
    const auto file = static_cast<int>(syscall(SYS_memfd_create, "cuda stand-in memory", MFD_CLOEXEC));
    require(file >= 0, cudaErrorOperatingSystem);
    if (syscall(SYS_pwrite64, file, &ticket, sizeof ticket, 0) != static_cast<long>(sizeof ticket)) {
      syscall(SYS_close, file);
      throw Failure{cudaErrorOperatingSystem};
    }
    memory.exported = true;
    *descriptor = file;
  });
}

cudaError_t import_memory(int descriptor, std::uint64_t* handle) {
  return locked([&] {
    Ticket ticket{};
    require(syscall(SYS_pread64, descriptor, &ticket, sizeof ticket, 0) == static_cast<long>(sizeof ticket) &&
                ticket.mark == kMark,
            cudaErrorInvalidValue);
    Device* device = &chosen_device();
    for (Device* visible : visible_devices())
      if (visible->physical() == ticket.physical_device) device = visible;
    *handle = enter_memory({device, ticket.range, false});
  });
}

cudaError_t range_of(const void* pointer, void** base, std::size_t* bytes) {
  return guarded([&] {
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->kind != MemoryKind::kRegistered, cudaErrorInvalidValue);
    *base = allocation->base;
    *bytes = allocation->bytes;
    return cudaSuccess;
  });
}

}  // namespace

const VirtualMemory kVirtualMemory{create,  release_handle, retain, device_of, reserve,       unreserve,
                                   map,     unmap,          allow,  access_of, export_memory, import_memory,
                                   range_of};

}  // namespace ddpscope::standin
