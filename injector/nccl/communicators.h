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
CommunicatorTurn take_turn(ncclComm_t handle);

}  // namespace ddpscope::injector
