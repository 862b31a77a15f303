// What nobody recorded still has to leave the one process and to reach the other.
#include "collector/ordering/unseen_talk.h"

#include <algorithm>

#include "collector/ordering/meeting_entries.h"

namespace ddpscope::ordering {
namespace {

void merge(std::vector<std::pair<std::int64_t, std::int64_t>>& stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::size_t kept = 0;
  for (const auto& stretch : stretches) {
    if (kept && stretch.first <= stretches[kept - 1].second)
      stretches[kept - 1].second = std::max(stretches[kept - 1].second, stretch.second);
    else
      stretches[kept++] = stretch;
  }
  stretches.resize(kept);
}

}  // namespace

UnseenTalk::UnseenTalk(const model::Job& job, const Graph& graph, const std::vector<Span>& runs,
                       const std::set<ThreadId>& untold)
    : clock_error_ns_(job.clock_error_ns) {
  note_runs(runs, untold);
  if (unseen_.empty()) return;
  note_processes(job, graph);
  note_edges(graph);
  sort();
}

void UnseenTalk::note_runs(const std::vector<Span>& runs, const std::set<ThreadId>& untold) {
  for (const Span& run : runs) {
    if (untold.count(run.thread)) unseen_.emplace_back(run.begin_ns, run.end_ns);
    for (Passages* passages : {&told_, &heard_})
      (*passages)[run.thread.process].push_back({run.end_ns, run.begin_ns});
  }
  merge(unseen_);
}

// What made a process has told it all by then, and who waits for its end hears all.
void UnseenTalk::note_processes(const model::Job& job, const Graph& graph) {
  std::map<Node, std::uint32_t> starts;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    Node start = graph.known_start_of(i);
    if (start != kNoNode)
      starts[start] = i;
    else
      heard_[i].push_back({process.first_ns, process.first_ns});
    told_[i].push_back({process.last_ns, process.last_ns});
  }
  for (const Edge& edge : graph.edges()) {
    auto start = starts.find(edge.to);
    if (edge.kind != EdgeKind::kProcess || start == starts.end()) continue;
    std::int64_t made_ns =
        graph.at_some_time(edge.from) ? graph.ns(edge.from) : job.processes[start->second].first_ns;
    heard_[start->second].push_back({made_ns, made_ns});
  }
}

void UnseenTalk::note_edges(const Graph& graph) {
  MeetingEntries entries(graph);
  for (const Edge& edge : graph.edges()) {
    bool leaves = graph.at_some_time(edge.from), reaches = graph.at_some_time(edge.to);
    auto process_of = [&](Node node) { return graph.thread(graph.thread_number(node)).process; };
    if (leaves && reaches && process_of(edge.from) == process_of(edge.to)) continue;
    Passage passage{graph.ns(leaves ? edge.from : edge.to), graph.ns(reaches ? edge.to : edge.from)};
    if (leaves) told_[process_of(edge.from)].push_back(passage);
    if (!reaches) continue;
    std::uint32_t process = process_of(edge.to);
    // It left its process when that went into the meeting, which may have been long before.
    if (!graph.on_thread(edge.from))
      passage.left_ns = std::min(passage.left_ns, entries.latest_ns(edge.from, process));
    heard_[process].push_back(passage);
  }
}

void UnseenTalk::sort() {
  for (auto& [process, passages] : told_) {
    std::sort(passages.begin(), passages.end(),
              [](const Passage& a, const Passage& b) { return a.left_ns < b.left_ns; });
    for (std::size_t i = passages.size(); i-- > 1;)
      passages[i - 1].reached_ns = std::min(passages[i - 1].reached_ns, passages[i].reached_ns);
  }
  for (auto& [process, passages] : heard_) {
    std::sort(passages.begin(), passages.end(),
              [](const Passage& a, const Passage& b) { return a.reached_ns < b.reached_ns; });
    for (std::size_t i = 1; i < passages.size(); ++i)
      passages[i].left_ns = std::max(passages[i].left_ns, passages[i - 1].left_ns);
  }
}

bool UnseenTalk::between(const Span& earlier, const Span& later) const {
  auto ends_before = [](const auto& stretch, std::int64_t ns) { return stretch.second < ns; };
  std::int64_t since = earlier.end_ns - clock_error_ns_, until = later.begin_ns + clock_error_ns_;
  auto talk = std::lower_bound(unseen_.begin(), unseen_.end(), since, ends_before);
  if (talk == unseen_.end() || talk->first > until) return false;
  if (earlier.thread.process == later.thread.process) return true;
  const Passages::mapped_type& told = told_.at(earlier.thread.process);
  auto left = std::lower_bound(told.begin(), told.end(), since,
                               [](const Passage& at, std::int64_t ns) { return at.left_ns < ns; });
  if (left == told.end() || left->reached_ns > until) return false;
  auto known = heard_.find(later.thread.process);
  if (known == heard_.end()) return false;
  const Passages::mapped_type& heard = known->second;
  auto reached = std::upper_bound(heard.begin(), heard.end(), until,
                                  [](std::int64_t ns, const Passage& at) { return ns < at.reached_ns; });
  return reached != heard.begin() && (reached - 1)->left_ns >= since;
}

}  // namespace ddpscope::ordering
