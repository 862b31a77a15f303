// One pass over the records of each judged thread, whatever the number of such processes.
#include "collector/ordering/unseen_children.h"

#include <algorithm>

namespace ddpscope::ordering {
namespace {

// When the calls of a thread begin and end.
std::vector<std::int64_t> find_moments(const model::Job& job, ThreadId thread) {
  std::vector<std::int64_t> moments;
  model::for_each(job.processes[thread.process].file,
                  [&](model::EventPlace place, const trace::Record& record) {
                    if (record.thread != thread.thread) return;
                    moments.push_back(job.begin_ns({thread.process, place}));
                    moments.push_back(job.end_ns({thread.process, place}));
                  });
  std::sort(moments.begin(), moments.end());
  return moments;
}

bool any_between(const std::vector<std::int64_t>& moments, std::int64_t from_ns, std::int64_t to_ns) {
  auto first = std::lower_bound(moments.begin(), moments.end(), from_ns);
  return first != moments.end() && *first <= to_ns;
}

}  // namespace

void add_unseen_work(const model::Job& job, const std::vector<ThreadId>& judged,
                     const std::vector<UnseenWork>& unseen, Graph& graph) {
  bool by_time = std::any_of(unseen.begin(), unseen.end(),
                             [](const UnseenWork& work) { return work.from_ns.has_value(); });
  for (ThreadId thread : judged) {
    std::vector<std::int64_t> moments;
    if (by_time) moments = find_moments(job, thread);
    for (const UnseenWork& work : unseen) {
      const model::Process& process = job.processes[thread.process];
      if (thread == work.by || process.first_ns >= work.until_ns) continue;
      if (process.rank >= 0 && process.rank == work.started_by) continue;
      if (work.from_ns && !any_between(moments, *work.from_ns, work.until_ns)) continue;
      // Two that are told at the same time do not tell each other.
      graph.edge(graph.up_to(thread, work.until_ns - 1), work.told, EdgeKind::kProcess, Trust::kUnseen);
    }
  }
}

}  // namespace ddpscope::ordering
