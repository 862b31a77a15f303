// Collects the edges of all sources and asks the clocks.
#include "collector/ordering/happens_before.h"

#include <algorithm>

#include "collector/ordering/device_edges.h"
#include "collector/ordering/exchanges.h"
#include "collector/ordering/file_edges.h"
#include "collector/ordering/group_edges.h"
#include "collector/ordering/losses.h"
#include "collector/ordering/process_edges.h"
#include "collector/ordering/shared_memory.h"
#include "collector/ordering/stream_edges.h"
#include "collector/ordering/stream_functions.h"
#include "collector/ordering/thread_edges.h"

namespace ddpscope::ordering {

HappensBefore::HappensBefore(const model::Job& job, const matching::Collectives& collectives,
                             const DeviceOrder& device_order, const files::SharedNames& names,
                             std::vector<ThreadId> judged)
    : job_(job), bulk_from_ns_(complete_from_ns(job)) {
  kept_lost_ = lost_records(job);
  if (!judged.empty()) {
    add_process_edges(job, judged, graph_);
    add_communicator_edges(job, collectives, graph_);
    add_device_edges(job, collectives, device_order, graph_);
    add_group_edges(job, graph_);
    std::vector<Span> runs = add_stream_edges(job, judged, graph_);
    add_exchange_edges(job, judged, graph_);
    add_signal_edges(job, add_thread_edges(job, graph_), graph_);
    synchronises_ = add_file_edges(job, names, graph_);
    add_lock_edges(job, graph_);
    untold_ = add_unseen_hand_overs(job, judged, graph_);
    unseen_talk_ = UnseenTalk(job, graph_, runs, untold_);
    shared_memory_ = find_shared_memory(job);
    stream_functions_ = find_stream_function_threads(job, judged);
  }
  for (ThreadId thread : judged) graph_.mention(thread);
  graph_.finish();
  bool used[3] = {true, false, false};
  for (const Edge& edge : graph_.edges()) used[static_cast<std::size_t>(edge.trust)] = true;
  for (Trust trust : {Trust::kSeen, Trust::kAssumed, Trust::kUnseen}) {
    auto level = static_cast<std::size_t>(trust);
    clocks_[level] = used[level] ? std::make_shared<Clocks>(graph_, judged, trust) : clocks_[level - 1];
  }
}

bool HappensBefore::before(const Span& first, const Span& second, Trust trust) const {
  std::int64_t error_ns = job_.clock_error_between(first.thread.process, second.thread.process);
  if (first.begin_ns > second.end_ns + error_ns) return false;
  if (first.thread == second.thread) return first.end_ns <= second.begin_ns;
  bool one_actor = first.thread.process == second.thread.process && untold_.count(first.thread) &&
                   untold_.count(second.thread);
  if (trust == Trust::kUnseen && one_actor && first.end_ns <= second.begin_ns) return true;
  return clocks(trust).known(first.thread, second.thread, second.begin_ns) >= first.end_ns;
}

// Whether all calls that could order `earlier` before another are there.
bool HappensBefore::known_in_full(const Span& earlier) const {
  return !kept_lost_ && earlier.end_ns >= bulk_from_ns_ && !clocks(Trust::kSeen).contradictory();
}

bool HappensBefore::share_memory(const Span& a, const Span& b) const {
  return shared_memory_.count(std::minmax(a.thread.process, b.thread.process)) > 0;
}

Verdict HappensBefore::between(const Span& a, const Span& b) const {
  auto ordered = [&](Trust trust) { return before(a, b, trust) || before(b, a, trust); };
  if (ordered(Trust::kSeen)) return Verdict::kOrdered;
  bool a_first = a.begin_ns <= b.begin_ns;
  if (!known_in_full(a_first ? a : b)) return Verdict::kUnjudged;
  if (stream_functions_.contains(a.thread) || stream_functions_.contains(b.thread)) return Verdict::kUnjudged;
  if (ordered(Trust::kAssumed)) return Verdict::kLikely;
  bool may_be =
      share_memory(a, b) || ordered(Trust::kUnseen) || unseen_talk_.between(a_first ? a : b, a_first ? b : a);
  return may_be ? Verdict::kUnjudged : Verdict::kUnordered;
}

}  // namespace ddpscope::ordering
