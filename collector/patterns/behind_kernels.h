// How collectives stand among the kernels of their process: which kernels they run behind, and which run
// behind them.
#pragma once
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::patterns {

// True only if it follows from streams, events and waits of the host; what the legacy stream orders without
// any event does not count.
struct AmongKernels {
  bool behind_all = false;  // runs behind every kernel that was launched before it: none of them can hide it
  // The last collective since which devices have worked for this one alone: it runs behind all kernels, and
  // all that were launched between the two, one at least, behind that one. Its ordinal + 1; 0: there is none.
  std::size_t level = 0;
  // The last collective that some kernel runs behind which was launched before this one: its ordinal + 1.
  std::size_t awaited = 0;
  // The stream that most kernels run in goes on behind it: whoever waits in it loses that time. Where none of
  // its kernels is known to run behind any collective, as if all did.
  bool holds_up = false;
};

// By ordinal. Of calls from before the launches of their process are known nothing is true, and any may be
// awaited.
std::vector<AmongKernels> find_among_kernels(const model::Job& job, const matching::Collectives& collectives,
                                             const matching::Member& member);

// Likewise of a process group whose collectives run on the hosts: work there is the host's own, which goes on
// behind those that it waits for, and ends where it makes the next call.
std::vector<AmongKernels> find_among_host_work(const matching::Collectives& groups,
                                               const ordering::DeviceOrder& waits,
                                               const matching::Member& member);

}  // namespace ddpscope::patterns
