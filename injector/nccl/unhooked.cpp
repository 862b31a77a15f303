// A table in static storage, without a lock; what two threads add at once is kept by one of them.
#include "injector/nccl/unhooked.h"

#include <string.h>

#include "injector/nccl/communicators.h"
#include "injector/nccl/functions.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint32_t kPlaces = 256;
UnhookedCommunicator places[kPlaces];

bool is_meant(const UnhookedCommunicator& known, const UnhookedIntroduction& introduction) {
  bool ranks_differ = known.rank >= 0 && introduction.rank >= 0 && known.rank != introduction.rank;
  return known.id == introduction.id && !ranks_differ;
}

constexpr std::uint32_t kTaken = ~0u;  // somebody fills the place in

UnhookedCommunicator* find_place(const UnhookedIntroduction& introduction) {
  for (UnhookedCommunicator& place : places) {
    std::uint32_t number = __atomic_load_n(&place.number, __ATOMIC_ACQUIRE);
    if (number && number != kTaken && is_meant(place, introduction)) return &place;
    if (number || !__atomic_compare_exchange_n(&place.number, &number, kTaken, false, __ATOMIC_ACQUIRE,
                                               __ATOMIC_RELAXED))
      continue;
    place.id = introduction.id;
    place.rank = -1;
    place.operations = 0;
    place.size = 0;
    place.epoch = ~0u;  // of no file
    __atomic_store_n(&place.number, next_communicator_number(), __ATOMIC_RELEASE);
    return &place;
  }
  return nullptr;
}

}  // namespace

UnhookedCommunicator* meet_unhooked(trace::FileWriter& file, const UnhookedIntroduction& introduction) {
  UnhookedCommunicator* place = find_place(introduction);
  if (!place) {
    file.count(trace::Health::unknown_communicators);
    return nullptr;
  }
  bool is_new = place->epoch != file.epoch();
  bool says_more = introduction.rank >= 0 && place->rank < 0;
  if (!is_new && !says_more) return place;
  if (says_more) {
    place->rank = introduction.rank;
    place->size = introduction.size;
  }
  place->epoch = file.epoch();
  const char* name = introduction.name;
  std::uint32_t name_id = name && *name ? this_thread.writer.intern(file, name) : 0;
  record_moment<Call::unhooked_communicator>(
      file, {place->id, place->number, place->rank, place->size, name_id, introduction.teller});
  return place;
}

OpenRecord begin_unhooked(trace::FileWriter& file, UnhookedCommunicator& communicator,
                          trace::payload::UnhookedCollective& payload) {
  payload.communicator = communicator.number;
  payload.sequence = __atomic_fetch_add(&communicator.operations, 1, __ATOMIC_RELAXED);
  std::uint32_t stack = current_stack(file);
  return this_thread.writer.open<Call::unhooked_collective>(file, payload, now(file), stack);
}

std::uint8_t function_code(const char* name) {
  constexpr std::size_t kPrefix = sizeof("nccl") - 1;
  if (name && strncmp(name, "nccl", kPrefix) == 0) name += kPrefix;
  for (const trace::CallInfo& info : trace::kCalls) {  // by number: these come first
    if (info.call > Call::ncclRecv) break;
    if (name && strcmp(info.symbol + kPrefix, name) == 0) return function_of(row_of(info.call));
  }
  return 0;
}

std::uint8_t datatype_code(const char* name) {
  struct {
    const char* name;
    std::uint8_t code;
  } constexpr kTypes[] = {
      {"ncclInt8", ncclInt8},         {"ncclUint8", ncclUint8},           {"ncclInt32", ncclInt32},
      {"ncclUint32", ncclUint32},     {"ncclInt64", ncclInt64},           {"ncclUint64", ncclUint64},
      {"ncclFloat16", ncclFloat16},   {"ncclFloat32", ncclFloat32},       {"ncclFloat64", ncclFloat64},
      {"ncclBfloat16", ncclBfloat16}, {"ncclFloat8e4m3", ncclFloat8e4m3}, {"ncclFloat8e5m2", ncclFloat8e5m2}};
  for (const auto& type : kTypes)
    if (name && strcmp(type.name, name) == 0) return type.code;
  return kUnknownType;
}

}  // namespace ddpscope::injector
