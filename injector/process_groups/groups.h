// The process groups of this process (torch.distributed's groups, MPI's communicators): a number for each,
// and how many operations it has had.
#pragma once
#include <cstdint>

#include "injector/core/hook.h"

namespace ddpscope::injector {

constexpr std::size_t kMaxGroupName = 256;

// What a group is known by.
struct GroupIdentity {
  std::uint64_t id;     // equal on all its ranks
  const char* name;     // shorter than kMaxGroupName
  const char* backend;  // "gloo", "nccl", "mpi"; stays valid
  std::int32_t rank, size;
  bool recorded = true;
};

struct ProcessGroup {
  const void* handle;        // __atomic; the library's; null: the place is free
  std::uint64_t id;          // equal on all its ranks
  std::uint32_t number;      // in this process, of the same count as NCCL's communicators; 0: not recorded
  std::uint32_t operations;  // __atomic; so far: the next one's sequence
  std::int32_t rank, size;
  std::uint32_t epoch;       // of the file that knows of it
  std::uint16_t generation;  // so many groups of this id there were before
  const char* backend;
  char name[kMaxGroupName];
};

// nullptr: none that is known.
ProcessGroup* find_group(const void* handle);

// Remembers one that was made. nullptr: there is no room (counted).
ProcessGroup* add_group(const void* handle, const GroupIdentity& identity);
void remove_group(ProcessGroup& group);

// What a record says of it. Inside OwnWork.
trace::payload::ProcessGroup described(trace::FileWriter& file, const ProcessGroup& group);

// Says in the file that there is this group, unless it says so: it may be from before a fork. Inside OwnWork.
template <Call row>
inline void announce(trace::FileWriter& file, ProcessGroup& group) {
  if (group.epoch == file.epoch() || !group.number) return;
  group.epoch = file.epoch();
  record_moment<row>(file, described(file, group));
}

}  // namespace ddpscope::injector
