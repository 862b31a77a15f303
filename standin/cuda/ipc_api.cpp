// Entry points that share memory and events between processes of a host.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/shared_event.h"
#include "standin/cuda/shared_memory.h"

using namespace ddpscope::standin;

namespace {

constexpr char kMagic[8] = {'s', 't', 'a', 'n', 'd', '-', 'i', 'n'};

struct Content {
  char magic[sizeof kMagic];
  SharedRange range;
};

template <class Handle>
void write(Handle& handle, const SharedRange& range) {
  static_assert(sizeof(Content) <= sizeof handle.reserved);
  Content content{};
  std::memcpy(content.magic, kMagic, sizeof kMagic);
  content.range = range;
  std::memset(&handle, 0, sizeof handle);
  std::memcpy(handle.reserved, &content, sizeof content);
}

template <class Handle>
SharedRange read(const Handle& handle) {
  Content content;
  std::memcpy(&content, handle.reserved, sizeof content);
  require(std::memcmp(content.magic, kMagic, sizeof kMagic) == 0, cudaErrorInvalidResourceHandle);
  return content.range;
}

bool is_ours(const SharedRange& range) { return range.process == share(0, 0).process; }

// Other processes' memory that this one has opened: a handle that is opened again gives the same pointer.
struct Opened {
  void* memory = nullptr;
  std::size_t bytes = 0;
  int times = 0;
};

using Key = std::tuple<std::int32_t, std::uint64_t, std::uint64_t>;

struct OpenedRanges {
  std::mutex mutex;
  std::map<Key, Opened> by_range;
};

OpenedRanges& opened() {
  static auto* instance = new OpenedRanges;
  return *instance;
}

void open_range(void** pointer, const SharedRange& range) {
  std::lock_guard lock(opened().mutex);
  Opened& entry = opened().by_range[{range.process, range.inode, range.offset}];
  if (entry.times == 0) {
    entry.memory = map_foreign(range);
    entry.bytes = range.bytes;
    if (!entry.memory) {
      opened().by_range.erase({range.process, range.inode, range.offset});
      throw Failure{cudaErrorInvalidResourceHandle};
    }
    register_range(entry.memory, range.bytes, MemoryKind::kForeign, &current_device(), 0);
  }
  ++entry.times;
  *pointer = entry.memory;
}

void close_range(void* pointer) {
  std::lock_guard lock(opened().mutex);
  for (auto& [key, entry] : opened().by_range) {
    if (entry.memory != pointer) continue;
    if (--entry.times > 0) return;
    release(pointer, MemoryKind::kForeign);
    opened().by_range.erase(key);
    return;
  }
  throw Failure{cudaErrorInvalidValue};
}

void say_private(std::size_t bytes) {
  std::fprintf(
      stderr,
      "standin libcudart: cudaIpcGetMemHandle: an allocation of %zu bytes is private to this process: below "
      "64 KiB, or made while the size of files was limited\n",
      bytes);
}

}  // namespace

extern "C" {

RUNTIME_API(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* pointer), (handle, pointer)) {
  return enter([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->kind == MemoryKind::kDevice && !allocation->pool,
            cudaErrorInvalidValue);
    if (allocation->shared_at == kNotShareable) {
      say_private(allocation->bytes);
      return cudaErrorNotSupported;
    }
    write(*handle, share(allocation->shared_at, allocation->bytes));
    return cudaSuccess;
  });
}

// A process cannot open what is its own (cudaIpcOpenMemHandle's documentation).
RUNTIME_API(cudaIpcOpenMemHandle, (void** pointer, cudaIpcMemHandle_t handle, unsigned int flags),
            (pointer, handle, flags)) {
  return enter([&] {
    require(pointer != nullptr && (flags & ~cudaIpcMemLazyEnablePeerAccess) == 0, cudaErrorInvalidValue);
    const SharedRange range = read(handle);
    require(!is_ours(range), cudaErrorDeviceUninitialized);
    unsafe_in_capture();
    open_range(pointer, range);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaIpcCloseMemHandle, (void* pointer), (pointer)) {
  return enter([&] {
    const auto allocation = find_allocation(pointer);
    require(allocation && allocation->kind == MemoryKind::kForeign, cudaErrorInvalidValue);
    allocation->device->synchronize();
    close_range(pointer);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event), (handle, event)) {
  return enter([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    const SharedEvent* shared = find_event(event)->shared();
    require(shared != nullptr, cudaErrorInvalidResourceHandle);
    write(*handle, shared->range());
    return cudaSuccess;
  });
}

RUNTIME_API(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t handle), (event, handle)) {
  return enter([&] {
    require(event != nullptr, cudaErrorInvalidValue);
    const SharedRange range = read(handle);
    require(!is_ours(range), cudaErrorDeviceUninitialized);
    *event = add_event(std::make_shared<Event>(current_device(), SharedEvent::open(range)));
    return cudaSuccess;
  });
}

}  // extern "C"
