// In which call on a process group of PyTorch a thread was: what it does there is the process group's doing.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::ordering {

struct GroupCall {
  std::int64_t begin_ns, end_ns;  // end_ns: kNever if it has not returned
  bool synchronous;               // as the program asked for it
  std::uint16_t call;             // number in calls.def

  bool is_barrier() const { return trace::operation_of(call) == trace::Operation::kGroupBarrier; }
};

// Collectives, barriers, sends and receives of one process.
class GroupCalls {
 public:
  GroupCalls(const model::Job& job, std::uint32_t process);

  // Null: the thread is in none at that time.
  const GroupCall* at(std::uint16_t thread, std::int64_t ns) const;

 private:
  std::map<std::uint16_t, std::vector<GroupCall>> calls_;  // by thread, in the order of begin
};

}  // namespace ddpscope::ordering
