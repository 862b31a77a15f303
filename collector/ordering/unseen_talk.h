// Whether two ranks may have talked through a thread of which nobody knows what others told it.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

class UnseenTalk {
 public:
  UnseenTalk() = default;
  // `runs`: of calls, one record each, through which ranks talk. `untold`: threads to which others of their
  // process may have told anything. The graph is complete.
  UnseenTalk(const model::Job& job, const Graph& graph, const std::vector<Span>& runs,
             const std::set<ThreadId>& untold);

  bool between(const Span& earlier, const Span& later) const;

 private:
  // From one process to another. Of a run, which stands for calls all along it: its end and its begin.
  struct Passage {
    std::int64_t left_ns, reached_ns;
  };
  using Passages = std::map<std::uint32_t, std::vector<Passage>>;  // by process

  void note_runs(const std::vector<Span>& runs, const std::set<ThreadId>& untold);
  void note_processes(const model::Job& job, const Graph& graph);
  void note_edges(const Graph& graph);
  void sort();

  std::int64_t clock_error_ns_ = 0;  // of any two hosts: by whom the talk went is not known
  std::vector<std::pair<std::int64_t, std::int64_t>> unseen_;  // when; in order and without overlap
  // By when they left; reached_ns is the least of those that left no sooner.
  Passages told_;
  // By when they reached it; left_ns is the latest of those that reached it no later.
  Passages heard_;
};

}  // namespace ddpscope::ordering
