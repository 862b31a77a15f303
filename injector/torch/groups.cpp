// A table in static storage: a process has few groups.
#include "injector/torch/groups.h"

#include <string.h>

#include "injector/core/hook.h"
#include "injector/nccl/communicators.h"

namespace ddpscope::injector::torch {
namespace {

constexpr std::uint32_t kGroups = 256;
ProcessGroup groups[kGroups];
std::uint32_t used;  // __atomic; places that were ever taken

// Groups that PyTorch makes to check those of the program (TORCH_DISTRIBUTED_DEBUG=DETAIL).
bool checks_others(const char* name) { return strstr(name, "pg_wrapper") != nullptr; }

// Ids of all groups that were made here, for their generation.
std::uint64_t ids[1024];
std::uint32_t known_ids;

std::uint16_t generation_of(std::uint64_t id) {
  std::uint16_t before = 0;
  for (std::uint32_t i = 0; i < known_ids; ++i) before = static_cast<std::uint16_t>(before + (ids[i] == id));
  if (known_ids < sizeof(ids) / sizeof(*ids)) ids[known_ids++] = id;
  return before;
}

ProcessGroup* take_place() {
  for (ProcessGroup& place : groups) {
    auto* const reserved = reinterpret_cast<const void*>(std::uintptr_t{1});  // no object has this address
    const void* expected = nullptr;
    if (__atomic_compare_exchange_n(&place.handle, &expected, reserved, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      auto number = static_cast<std::uint32_t>(&place - groups) + 1;
      if (number > __atomic_load_n(&used, __ATOMIC_RELAXED))
        __atomic_store_n(&used, number, __ATOMIC_RELAXED);
      return &place;
    }
  }
  return nullptr;
}

}  // namespace

ProcessGroup* find_group(const void* handle) {
  std::uint32_t count = __atomic_load_n(&used, __ATOMIC_RELAXED);
  for (std::uint32_t i = 0; i < count; ++i)
    if (__atomic_load_n(&groups[i].handle, __ATOMIC_ACQUIRE) == handle) return &groups[i];
  return nullptr;
}

ProcessGroup* add_group(const void* handle, const char* backend, const void* store, std::int32_t rank,
                        std::int32_t size) {
  if (ProcessGroup* old = find_group(handle)) remove_group(*old);
  ProcessGroup* place = take_place();
  if (!place) {
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::unknown_communicators);
    return nullptr;
  }
  std::size_t length = name_of_store(store, place->name);
  place->id = trace::hash_bytes(place->name, length);
  place->number = checks_others(place->name) ? 0 : next_communicator_number();
  place->operations = 0;
  place->backend = backend;
  place->rank = rank;
  place->size = size;
  place->epoch = ~0u;  // of no file
  place->generation = generation_of(place->id);
  __atomic_store_n(&place->handle, handle, __ATOMIC_RELEASE);
  return place;
}

void remove_group(ProcessGroup& group) {
  __atomic_store_n(&group.handle, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
}

trace::payload::ProcessGroup described(trace::FileWriter& file, const ProcessGroup& group) {
  return {group.id,
          as_number(group.handle),
          group.number,
          this_thread.writer.intern(file, group.name),
          group.rank,
          group.size,
          this_thread.writer.intern(file, group.backend),
          group.generation,
          0,
          0};
}

void announce(trace::FileWriter& file, ProcessGroup& group) {
  if (group.epoch == file.epoch() || !group.number) return;
  group.epoch = file.epoch();
  record_moment<Call::c10d_group>(file, described(file, group));
}

}  // namespace ddpscope::injector::torch
