// Which parameters a backward pass has used, on any rank: what DistributedDataParallel wants to know with
// find_unused_parameters.
#pragma once

#include <algorithm>

#include "device.h"
#include "process_group.h"

namespace reference_trainer {

class ParameterUsage {
 public:
  ParameterUsage(size_t parameters, ProcessGroup& group)
      : host_(parameters), used_(parameters), group_(group) {
    clear();
  }

  void mark(size_t parameter) { host_.span()[parameter] = 1; }

  // Sums the marks up over the ranks, and begins a new map. The host waits for the copy, not for the sum.
  void share() {
    check(
        cudaMemcpyAsync(used_.data(), host_.data(), used_.bytes(), cudaMemcpyHostToDevice, group_.stream()));
    copied_.record(group_.stream());
    group_.all_reduce(used_.data(), used_.size(), ncclInt32, ncclSum);
    copied_.synchronize();
    clear();
  }

 private:
  void clear() { std::ranges::fill(host_.span(), 0); }

  PinnedBuffer<int32_t> host_;
  DeviceBuffer<int32_t> used_;
  Event copied_;
  ProcessGroup& group_;
};

}  // namespace reference_trainer
