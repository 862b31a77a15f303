// Where threads learn what other ranks have done, if not by NCCL: a library's own threads (Gloo's, MPI's)
// hear of it and hand it over.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

// A hand-over with a stack: where in the program the thread was that took it.
struct Taken {
  model::EventRef event;
  std::int64_t begin_ns;
};

class PeerNews {
 public:
  PeerNews(const model::Job& job, const ordering::HappensBefore& order) : job_(job), order_(order) {}

  // The thread's, by time. The first question about a thread goes through its process's trace.
  const std::vector<Taken>& taken_by(ordering::ThreadId thread);

  // The first after `from_ns` from which on all that `peer` did until `told_ns` comes before what `thread`
  // does, if it did not before. Both threads are among those that `order` was asked to judge.
  std::optional<Taken> first_told(ordering::ThreadId thread, std::int64_t from_ns, ordering::ThreadId peer,
                                  std::int64_t told_ns);

 private:
  const model::Job& job_;
  const ordering::HappensBefore& order_;
  std::map<ordering::ThreadId, std::vector<Taken>> taken_;
};

}  // namespace ddpscope::patterns
