// Communicators of an NCCL that the hooks did not reach, as that told itself; and how NCCL runs collectives.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::model {

struct UnhookedCommunicator {
  std::uint64_t id = 0;
  std::uint32_t number = 0;          // in the process
  std::int32_t rank = -1, size = 0;  // -1, 0: nobody told
  std::string_view name;             // empty: likewise
  std::uint8_t told_by = 0;          // as payload::UnhookedCollective has it, of all of its operations
  std::uint64_t operations = 0;
  std::uint64_t without_type = 0;  // whose data type and stream nobody told
};
std::vector<UnhookedCommunicator> unhooked_communicators(const Process& process);  // by number

// "by its NVTX ranges", "by its profiler interface", or both.
const char* teller_text(std::uint8_t told_by);

// As payload::CollectiveChoice has it; each once, how often it changed.
struct CollectiveChoice {
  std::uint32_t communicator;
  std::uint8_t function, datatype;
  std::uint64_t count;
  std::string_view algorithm, protocol;
  std::uint8_t channels;
  bool operator==(const CollectiveChoice&) const = default;
};
std::vector<CollectiveChoice> collective_choices(const Process& process);  // in the order of time

}  // namespace ddpscope::model
