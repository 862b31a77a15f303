// The communicators of this process: a number for each, and how many operations it has had.
#pragma once
#include <nccl.h>

#include <cstdint>

namespace ddpscope::injector {

struct CommunicatorState {
  ncclComm_t handle;         // null: the place is free
  std::uint64_t id;          // equal on all its ranks
  std::uint32_t number;      // in this process, from 1
  std::uint32_t operations;  // enqueued so far: the next one's sequence
  std::uint32_t splits;      // children made so far: all ranks count alike
  std::uint8_t device;
};

// What a collective finds out about its communicator; number 0 if its creation was not seen (counted).
struct CommunicatorTurn {
  std::uint32_t number;
  std::uint32_t sequence;
  std::uint8_t device;
};

std::uint64_t id_of(const ncclUniqueId& unique_id);
// The identity of a child: split number `split` of the parent, with this colour.
std::uint64_t id_of_child(std::uint64_t parent, std::uint32_t split, int color);

std::uint32_t next_communicator_number();
// Remembers a created communicator; an old one with the same handle is forgotten: NCCL reuses addresses.
void add_communicator(ncclComm_t handle, std::uint64_t id, std::uint32_t number, std::uint8_t device);
void remove_communicator(ncclComm_t handle);
CommunicatorState* find_communicator(ncclComm_t handle);

// Where the look-up of a handle starts: most are found there. Handles are aligned pointers: the low bits say
// nothing.
constexpr std::uint32_t kCommunicatorPlaces = 4096;
extern CommunicatorState communicator_places[kCommunicatorPlaces];
inline CommunicatorState& communicator_place(ncclComm_t handle, int probe = 0) {
  auto hash = (reinterpret_cast<std::uintptr_t>(handle) >> 4) * 0x9E3779B97F4A7C15u >> 40;
  return communicator_places[(hash + static_cast<std::uintptr_t>(probe)) % kCommunicatorPlaces];
}

// NCCL lets one thread at a time use a communicator: so no locked instruction, which would cost as much as
// all the rest of the look-up. Two threads that do it all the same may get one number, never leave one out.
inline CommunicatorTurn turn_of(CommunicatorState& state) {
  std::uint32_t sequence = __atomic_load_n(&state.operations, __ATOMIC_RELAXED);
  __atomic_store_n(&state.operations, sequence + 1, __ATOMIC_RELAXED);
  return {state.number, sequence, state.device};
}

CommunicatorTurn search_turn(ncclComm_t handle);
inline CommunicatorTurn take_turn(ncclComm_t handle) {
  CommunicatorState& first = communicator_place(handle);
  bool found = handle && __atomic_load_n(&first.handle, __ATOMIC_ACQUIRE) == handle;
  return __builtin_expect(found, 1) ? turn_of(first) : search_turn(handle);
}

}  // namespace ddpscope::injector
