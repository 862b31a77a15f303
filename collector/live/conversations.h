// What ranks say to each other over TCP, for collectives that are not NCCL's: who was spoken to last and has
// not answered.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::live {

struct Speaker {
  std::uint32_t process = 0;
  std::int64_t sent_ns = 0;  // when it last sent anything to another rank; 0: not seen
  bool was_asked = false;    // after it last sent anything, for certain (clocks of several hosts)
};

// Ranks that are connected with each other, if by others. Whoever begins a collective of Gloo speaks first to
// those with which it exchanges data, whether it sends or receives: who says nothing has not come.
struct Conversation {
  std::map<std::int32_t, Speaker> speakers;  // by rank
  bool by_threads = true;      // no rank's main thread receives anything itself: it waits for those that do
  std::int64_t last_ns = 0;    // when any of them last sent anything
  std::int64_t usual_ns = 0;   // the longest pause so far
  std::int64_t needed_ns = 0;  // from when on a pause counts
};

// Without the connections of stores, and those of NCCL, which are not recorded.
std::vector<Conversation> find_conversations(const model::Job& job);

}  // namespace ddpscope::live
