// A small open-addressed table in static storage: no allocation, no lock; a process has few communicators.
#include "injector/nccl/communicators.h"

#include "injector/core/process.h"

namespace ddpscope::injector {
namespace {

std::uint32_t numbers;

// Only free places and matching ones: a place that was freed may be found before the handle's own, so all
// probes are made.
constexpr int kProbes = 32;

}  // namespace

CommunicatorState communicator_places[kCommunicatorPlaces];

std::uint64_t id_of(const ncclUniqueId& unique_id) {
  return trace::hash_bytes(&unique_id, sizeof(unique_id));
}

std::uint64_t id_of_child(std::uint64_t parent, std::uint32_t split, int color) {
  const std::uint64_t words[] = {parent, split, static_cast<std::uint64_t>(static_cast<std::int64_t>(color))};
  return trace::hash_bytes(words, sizeof(words));
}

std::uint32_t next_communicator_number() { return __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED); }

CommunicatorState* find_communicator(ncclComm_t handle) {
  for (int probe = 0; handle && probe < kProbes; ++probe) {
    CommunicatorState& candidate = communicator_place(handle, probe);
    if (__atomic_load_n(&candidate.handle, __ATOMIC_ACQUIRE) == handle) return &candidate;
  }
  return nullptr;
}

void remove_communicator(ncclComm_t handle) {
  while (CommunicatorState* found = find_communicator(handle))
    __atomic_store_n(&found->handle, nullptr, __ATOMIC_RELEASE);
}

void add_communicator(ncclComm_t handle, std::uint64_t id, std::uint32_t number, std::uint8_t device) {
  remove_communicator(handle);
  auto* const reserved = reinterpret_cast<ncclComm_t>(std::uintptr_t{1});  // no handle has this address
  for (int probe = 0; handle && probe < kProbes; ++probe) {
    CommunicatorState& candidate = communicator_place(handle, probe);
    ncclComm_t expected = nullptr;
    if (!__atomic_compare_exchange_n(&candidate.handle, &expected, reserved, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    candidate.id = id;
    candidate.number = number;
    candidate.operations = 0;
    candidate.splits = 0;
    candidate.device = device;
    __atomic_store_n(&candidate.handle, handle, __ATOMIC_RELEASE);
    return;
  }
}

CommunicatorTurn search_turn(ncclComm_t handle) {
  if (CommunicatorState* found = find_communicator(handle)) return turn_of(*found);
  if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::unknown_communicators);
  return {0, 0, 0};
}

}  // namespace ddpscope::injector
