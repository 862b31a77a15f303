// Communicators and operations of an NCCL that the hooks do not reach (linked statically with hidden symbols,
// or bound past every preload), as its NVTX ranges and its profiler interface tell of them.
#pragma once
#include "injector/core/hook.h"

namespace ddpscope::injector {

enum Teller : std::uint8_t { kToldByNvtx = 1, kToldByProfiler = 2 };

constexpr std::uint8_t kUnknownType = 0xFF;

struct UnhookedCommunicator {
  std::uint64_t id;      // NCCL's own; 0: it told none
  std::uint32_t number;  // of the same count as those of CommunicatorState; __atomic, 0: the place is free
  std::uint32_t operations;  // so far
  std::int32_t rank, size;   // -1, 0: nobody told
  std::uint32_t epoch;       // of the file that knows of it
};

// What a teller knows of one.
struct UnhookedIntroduction {
  std::uint64_t id;
  const char* name = nullptr;
  std::int32_t rank = -1, size = 0;
  Teller teller = kToldByNvtx;
};

// The one with this id (and rank, as far as both are known); new ones, and what is new of others, are
// recorded. nullptr: there are too many (counted). Must be called inside OwnWork.
UnhookedCommunicator* meet_unhooked(trace::FileWriter& file, const UnhookedIntroduction& introduction);

// Opens the record of its next operation: communicator and sequence are filled in here. Likewise.
OpenRecord begin_unhooked(trace::FileWriter& file, UnhookedCommunicator& communicator,
                          trace::payload::UnhookedCollective& payload);

// The number in calls.def of a function that NCCL calls "AllReduce" or "ncclAllReduce"; 0: of no operation.
std::uint8_t function_code(const char* name);
// ncclDataType_t of "ncclFloat32"; kUnknownType for others.
std::uint8_t datatype_code(const char* name);

}  // namespace ddpscope::injector
