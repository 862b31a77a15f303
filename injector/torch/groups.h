// The process groups of this process: a number for each, and how many operations it has had.
#pragma once
#include <cstdint>

#include "injector/core/hook.h"
#include "injector/torch/group_names.h"

namespace ddpscope::injector::torch {

struct ProcessGroup {
  const void* handle;        // __atomic; the C++ object; null: the place is free
  std::uint64_t id;          // equal on all its ranks
  std::uint32_t number;      // in this process, of the same count as NCCL's communicators; 0: not recorded
  std::uint32_t operations;  // __atomic; so far: the next one's sequence
  std::int32_t rank, size;
  std::uint32_t epoch;       // of the file that knows of it
  std::uint16_t generation;  // so many groups of this name there were before
  const char* backend;       // "gloo", "nccl"
  char name[kMaxGroupName];
};

// nullptr: none that is known.
ProcessGroup* find_group(const void* handle);

// Remembers one that was made. nullptr: there is no room (counted).
ProcessGroup* add_group(const void* handle, const char* backend, const void* store, std::int32_t rank,
                        std::int32_t size);
void remove_group(ProcessGroup& group);

// What a record says of it. Inside OwnWork.
trace::payload::ProcessGroup described(trace::FileWriter& file, const ProcessGroup& group);

// Says in the file that there is this group, unless it says so: it may be from before a fork. Inside OwnWork.
void announce(trace::FileWriter& file, ProcessGroup& group);

}  // namespace ddpscope::injector::torch
