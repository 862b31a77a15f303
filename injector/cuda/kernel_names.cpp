// An open-addressed table in static storage: registration runs before main and in dlopen, where nothing may
// be allocated, and libtorch_cuda registers more than 100,000 kernels. No page of it exists before it is
// written.
#include "injector/cuda/kernel_names.h"

#include <atomic>

#include "injector/core/process.h"

namespace ddpscope::injector {
namespace {

struct Entry {
  std::atomic<const void*> function;
  std::atomic<const char*> name;
  std::atomic<std::uint64_t> id;  // of the name in a trace: the trace's epoch + 1, then the id
};

constexpr std::size_t kEntries = 1u << 19;
constexpr std::size_t kProbes = 64;
Entry entries[kEntries];

// The entry of `function`, or the free one where it would be; nullptr: this part of the table is full.
Entry* find(const void* function) {
  std::size_t first = reinterpret_cast<std::uintptr_t>(function) * 0x9E3779B97F4A7C15u >> 45;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = entries[(first + probe) % kEntries];
    const void* present = entry.function.load(std::memory_order_acquire);
    if (!present || present == function) return &entry;
  }
  return nullptr;
}

}  // namespace

void remember_kernel(const void* function, const char* name) {
  for (Entry* entry = name ? find(function) : nullptr; entry; entry = find(function)) {
    const void* present = nullptr;
    if (!entry->function.compare_exchange_strong(present, function) && present != function) continue;
    entry->id.store(0, std::memory_order_relaxed);
    entry->name.store(name, std::memory_order_release);
    return;
  }
}

const char* kernel_name(const void* function) {
  Entry* entry = find(function);
  return entry ? entry->name.load(std::memory_order_acquire) : nullptr;
}

std::uint32_t kernel_name_id(trace::FileWriter& file, const void* function) {
  Entry* entry = find(function);
  const char* name = entry ? entry->name.load(std::memory_order_acquire) : nullptr;
  if (!name) return 0;
  std::uint64_t epoch = (std::uint64_t{file.epoch()} + 1) << 32;
  std::uint64_t known = entry->id.load(std::memory_order_relaxed);
  if (known >> 32 == epoch >> 32) return static_cast<std::uint32_t>(known);
  std::uint32_t id = this_thread.writer.intern(file, name);
  entry->id.store(epoch | id, std::memory_order_relaxed);
  return id;
}

}  // namespace ddpscope::injector
