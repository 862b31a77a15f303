// Goes through the meetings in their order: each knows what comes before it once those before it do.
#include "collector/ordering/meeting_entries.h"

#include <algorithm>
#include <utility>

namespace ddpscope::ordering {

void MeetingEntries::Entries::add(const Entry& entry) {
  if (entry.process == kNobody) return;
  Entry left = entry;
  if (left.process != latest.process && left.ns > latest.ns) std::swap(left, latest);
  if (left.process == latest.process)
    latest.ns = std::max(latest.ns, left.ns);
  else if (left.ns > next.ns)
    next = left;
}

MeetingEntries::MeetingEntries(const Graph& graph) : entries_(graph.nodes()) {
  std::vector<std::uint32_t> missing(graph.nodes());  // by meeting: meetings before it that are not known
  Steps steps;
  for (const Edge& edge : graph.edges()) {
    if (graph.on_thread(edge.to)) continue;
    if (!graph.on_thread(edge.from)) {
      ++missing[edge.to];
      steps.emplace_back(edge.from, edge.to);
      continue;
    }
    std::uint32_t process = graph.thread(graph.thread_number(edge.from)).process;
    entries_[edge.to].add({process, graph.at_some_time(edge.from) ? graph.ns(edge.from) : kMost});
  }
  std::sort(steps.begin(), steps.end());
  for (Node node = 0; node < graph.nodes(); ++node)
    if (!graph.on_thread(node) && missing[node] == 0 && !entries_[node].known) follow(node, steps, missing);
}

void MeetingEntries::follow(Node first, const Steps& steps, std::vector<std::uint32_t>& missing) {
  std::vector<Node> ready{first};
  while (!ready.empty()) {
    Node node = ready.back();
    ready.pop_back();
    entries_[node].known = true;
    for (auto step = std::lower_bound(steps.begin(), steps.end(), std::pair(node, Node{0}));
         step != steps.end() && step->first == node; ++step) {
      Node next = step->second;
      entries_[next].add(entries_[node].latest);
      entries_[next].add(entries_[node].next);
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
}

std::int64_t MeetingEntries::latest_ns(Node meeting, std::uint32_t process) const {
  const Entries& entries = entries_[meeting];
  if (!entries.known) return kMost;  // part of a circle
  return (entries.latest.process == process ? entries.next : entries.latest).ns;
}

}  // namespace ddpscope::ordering
