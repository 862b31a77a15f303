// Ranks that wait over TCP for one that does not answer: stalls of collectives that are not NCCL's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/detectors/open_wait.h"
#include "collector/live/machine.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::live {

struct Heard {
  bool anything = false;  // ranks talk over TCP
  std::vector<detectors::OpenWait> stalls;
  std::vector<std::string> unjudged;
};

// Collectives of Gloo are run by threads of the library: a rank that is inside of one waits for such a thread
// and leaves no open record. So two things must be seen. In the trace: others have sent something to the
// missing rank since it last sent anything. On the machine: its main thread is somewhere else than in a wait
// for another thread, and theirs are in such a wait. Where main threads receive from ranks themselves nothing
// is judged. `inside`: of each process, of its main thread; kUnknown for processes of other hosts.
Heard find_unanswered(const model::Job& job, const matching::Collectives& collectives,
                      const std::vector<Inside>& inside);

}  // namespace ddpscope::live
