// When a rank took what a worker process had for it.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

class Deliveries {
 public:
  explicit Deliveries(const model::Job& job);

  // Times at which the rank's own process received from a pipe or socket that `worker` sent into, ascending.
  std::vector<std::int64_t> of(std::uint32_t worker) const;

 private:
  using Inode = std::uint64_t;  // of a pipe both ends have the same
  std::unordered_map<std::uint32_t, std::unordered_set<Inode>> sent_into_;  // by worker process
  std::unordered_map<std::int32_t, std::unordered_map<Inode, std::vector<std::int64_t>>>
      received_;  // by rank
  const model::Job& job_;
};

}  // namespace ddpscope::patterns
