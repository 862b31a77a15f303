// The last edge of each kind that the second thread took before its access.
#include "collector/ordering/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace ddpscope::ordering {
namespace {

constexpr std::pair<EdgeKind, const char*> kLookedFor[] = {
    {EdgeKind::kCollective, "collective that the second rank's host waits for"},
    {EdgeKind::kCommunicator, "making of a communicator"},
    {EdgeKind::kMessage, "message over a socket or pipe"},
    {EdgeKind::kHandOver, "hand-over between threads"},
    {EdgeKind::kFile, "file that signals (polled, renamed, locked)"},
    {EdgeKind::kProcess, "start or end of a process"}};

}  // namespace

std::vector<Search> explain(const HappensBefore& order, const Span& first, const Span& second) {
  const Graph& graph = order.graph();
  std::vector<Search> searches;
  for (auto [kind, text] : kLookedFor) {
    Node last = kNoNode;
    for (const Edge& edge : graph.edges()) {
      if (edge.kind != kind || edge.trust != Trust::kSeen || !graph.at_some_time(edge.to)) continue;
      if (graph.thread(graph.thread_number(edge.to)) != second.thread) continue;
      std::int64_t ns = graph.ns(edge.to);
      if (ns < first.end_ns || ns > second.begin_ns) continue;
      if (last == kNoNode || graph.ns(last) < ns) last = edge.to;
    }
    if (last == kNoNode) {
      searches.push_back({text, "none between"});
      continue;
    }
    double at = static_cast<double>(graph.ns(last)) * 1e-9;
    std::int64_t known = order.known(first.thread, second.thread, graph.ns(last));
    std::string reach = known == Clocks::kNothing ? "nothing that the first rank did"
                                                  : fmt::format("only what the first rank did until {:.6f} s",
                                                                static_cast<double>(known) * 1e-9);
    searches.push_back({text, fmt::format("the last, at {:.6f} s, comes after {}", at, reach)});
  }
  return searches;
}

}  // namespace ddpscope::ordering
