// Is one access ordered before another in every run, or only by luck in this one?
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/clocks.h"
#include "collector/ordering/device_order.h"
#include "collector/ordering/graph.h"
#include "collector/ordering/unseen_talk.h"

namespace ddpscope::ordering {

enum class Verdict : std::uint8_t {
  kOrdered,    // by edges that were seen
  kLikely,     // unordered, unless every mutex or a peer outside the trace orders the two
  kUnordered,  // whatever is assumed
  kUnjudged,   // what could order the two was not recorded
};

class HappensBefore {
 public:
  // `judged`: the threads that will be asked about. Nothing is built without any.
  HappensBefore(const model::Job& job, const matching::Collectives& collectives,
                const DeviceOrder& device_order, const files::SharedNames& names,
                std::vector<ThreadId> judged);

  // Whether this event of `names` only waits for a name.
  bool synchronises(std::size_t event) const { return event < synchronises_.size() && synchronises_[event]; }

  // Whether all of `first` comes before any of `second`, by edges of this trust and more trusted ones.
  bool before(const Span& first, const Span& second, Trust trust) const;

  // Of two calls of different ranks, in whatever direction.
  Verdict between(const Span& a, const Span& b) const;

  // Up to when (ns) what `of` did is known to come before what `thread` does from `from_ns` on.
  std::int64_t known(ThreadId of, ThreadId thread, std::int64_t from_ns) const {
    return clocks(Trust::kSeen).known(of, thread, from_ns);
  }
  const Graph& graph() const { return graph_; }

 private:
  const Clocks& clocks(Trust trust) const { return *clocks_[static_cast<std::size_t>(trust)]; }
  bool known_in_full(const Span& earlier) const;
  bool share_memory(const Span& a, const Span& b) const;

  const model::Job& job_;
  Graph graph_;
  std::vector<bool> synchronises_;
  std::shared_ptr<const Clocks> clocks_[3];  // by trust; one for those that differ in no edge
  std::set<ThreadId> untold_;                // what they tell other threads of their process shows in no call
  std::set<ThreadId> stream_functions_;      // threads that run what was enqueued to streams
  UnseenTalk unseen_talk_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> shared_memory_;  // processes, the smaller index first
  bool kept_lost_ = false;     // what makes edges is missing, and nobody knows when it was
  std::int64_t bulk_from_ns_;  // before, calls that make edges may have been overwritten
};

}  // namespace ddpscope::ordering
