// Which GPUs the ranks of a job use. A GPU is known by its UUID, never by its ordinal: CUDA_VISIBLE_DEVICES
// numbers anew, so that two ranks may both use device 0 and two GPUs.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

struct Gpu {
  std::uint32_t host;  // of the job: a stand-in's UUIDs are the same on all hosts
  std::uint64_t uuid_high, uuid_low;
  std::string_view slice;  // of a partitioned GPU (MIG), as CUDA_VISIBLE_DEVICES names it; else empty

  auto operator<=>(const Gpu&) const = default;
};
std::string name_of(const model::Job& job, const Gpu& gpu);  // "GPU-01234567-89ab-... of node1"

// A rank's place in a communicator, taken or refused: that GPU is the rank's own.
struct Seat {
  std::int32_t rank;          // of the job
  std::int32_t process_rank;  // of its process, which may hold several
  std::int32_t rank_in_communicator;
  std::uint64_t communicator;  // id, equal on all members
  Gpu gpu;
  std::uint8_t ordinal;
  bool refused;  // the communicator did not come to be
  model::EventRef made;
};

class DeviceUse {
 public:
  explicit DeviceUse(const model::Job& job);

  // Those that became current in a process and whose UUID is known, by ordinal.
  const std::map<std::uint8_t, Gpu>& of_process(std::uint32_t process) const { return gpus_[process]; }
  const Gpu* find(std::uint32_t process, std::uint8_t ordinal) const;
  const std::vector<Seat>& seats() const { return seats_; }  // by process, then in order of time
  // Whether processes of this rank have seats; on this GPU.
  bool has_seat(std::int32_t process_rank) const;
  bool has_seat(std::int32_t process_rank, const Gpu& gpu) const;

 private:
  void find_gpus(const model::Job& job, std::uint32_t process);
  void find_seats(const model::Job& job, std::uint32_t process);

  std::vector<std::map<std::uint8_t, Gpu>> gpus_;  // by process
  std::vector<Seat> seats_;
};

// The call by which the process chose the device for what it did later: the last cudaSetDevice before, else
// that event itself, for which the device was current from the start.
model::EventRef choice_of(const model::Job& job, model::EventRef event, std::uint8_t ordinal);

}  // namespace ddpscope::patterns
