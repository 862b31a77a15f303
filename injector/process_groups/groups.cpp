// A table in static storage: a process has few groups.
#include "injector/process_groups/groups.h"

#include <string.h>

#include "injector/core/hook.h"
#include "injector/nccl/communicators.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint32_t kGroups = 256;
ProcessGroup groups[kGroups];
std::uint32_t used;  // __atomic; places that were ever taken

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

ProcessGroup* add_group(const void* handle, const GroupIdentity& identity) {
  if (ProcessGroup* old = find_group(handle)) remove_group(*old);
  ProcessGroup* place = take_place();
  if (!place) {
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::unknown_communicators);
    return nullptr;
  }
  place->id = identity.id;
  place->number = identity.recorded ? next_communicator_number() : 0;
  place->operations = 0;
  place->backend = identity.backend;
  place->rank = identity.rank;
  place->size = identity.size;
  place->epoch = ~0u;  // of no file
  place->generation = generation_of(place->id);
  strncpy(place->name, identity.name, kMaxGroupName - 1);
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

}  // namespace ddpscope::injector
