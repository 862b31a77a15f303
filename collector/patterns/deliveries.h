// When a rank took what its worker processes had for it.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// Of one rank.
class Deliveries {
 public:
  Deliveries(const model::Job& job, std::int32_t rank);

  // Times at which the rank's own process received from a pipe or socket that `worker` sent into, ascending.
  std::vector<std::int64_t> of(std::uint32_t worker) const;

 private:
  using Inode = std::uint64_t;  // of a pipe both ends have the same

  void note_sent(const model::Job& job, std::uint32_t worker);
  void note_received(const model::Job& job, std::uint32_t process);

  std::unordered_map<std::uint32_t, std::unordered_set<Inode>> sent_into_;  // by worker process
  std::unordered_map<Inode, std::vector<std::int64_t>> received_;           // from pipes of workers
};

}  // namespace ddpscope::patterns
