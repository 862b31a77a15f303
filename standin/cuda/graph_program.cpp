// How the nodes of a graph become steps in lanes.
#include <algorithm>
#include <map>

#include "standin/cuda/graph_exec.h"

namespace ddpscope::standin {
namespace {

// Each lane is a thread; what is wider shares them.
constexpr std::size_t kMostLanes = 8;

class Builder {
 public:
  explicit Builder(const Graph& graph) { program_->graph = graph.id(); }

  // The steps after which all of the graph has run.
  std::vector<std::uint32_t> append(const Graph& graph, const std::vector<std::uint32_t>& before) {
    std::map<const GraphNode*, std::vector<std::uint32_t>> ends;
    std::map<const GraphNode*, bool> is_needed;
    const std::vector<GraphNode*> order = graph.in_order();
    for (const GraphNode* node : order) {
      std::vector<std::uint32_t> needs = node->dependencies.empty() ? before : std::vector<std::uint32_t>{};
      for (const GraphNode* needed : node->dependencies) {
        needs.insert(needs.end(), ends[needed].begin(), ends[needed].end());
        is_needed[needed] = true;
      }
      ends[node] = node->does.child ? append(*node->does.child, needs)
                                    : std::vector{add_step(*node, std::move(needs))};
    }
    std::vector<std::uint32_t> last;
    for (const GraphNode* node : order) {
      if (!is_needed[node]) last.insert(last.end(), ends[node].begin(), ends[node].end());
    }
    return last.empty() ? before : last;
  }

  std::shared_ptr<const GraphProgram> done() {
    if (program_->lanes.empty()) program_->lanes.emplace_back();
    return program_;
  }

 private:
  std::uint32_t add_step(const GraphNode& node, std::vector<std::uint32_t> needs) {
    const auto step = static_cast<std::uint32_t>(program_->steps.size());
    const std::uint32_t lane = lane_for(needs);
    std::vector<std::uint32_t>& own = program_->lanes[lane];
    if (!own.empty()) std::erase(needs, own.back());
    own.push_back(step);
    program_->steps.push_back({node.enabled ? node.does : NodeWork{}, node.id, std::move(needs), lane, {}});
    if (node.does.conditional)
      for (const GraphRef& body : node.does.conditional->bodies)
        program_->steps.back().bodies.push_back(make_program(*body));
    return step;
  }

  // That of a step which this one follows, as long as no other follows it there.
  std::uint32_t lane_for(const std::vector<std::uint32_t>& needs) {
    auto& lanes = program_->lanes;
    for (auto need = needs.rbegin(); need != needs.rend(); ++need) {
      const std::uint32_t lane = program_->steps[*need].lane;
      if (lanes[lane].back() == *need) return lane;
    }
    if (lanes.size() < kMostLanes) {
      lanes.emplace_back();
      return static_cast<std::uint32_t>(lanes.size() - 1);
    }
    const auto shortest = std::ranges::min_element(lanes, {}, [](const auto& lane) { return lane.size(); });
    return static_cast<std::uint32_t>(shortest - lanes.begin());
  }

  std::shared_ptr<GraphProgram> program_ = std::make_shared<GraphProgram>();
};

}  // namespace

std::shared_ptr<const GraphProgram> make_program(const Graph& graph) {
  Builder builder(graph);
  builder.append(graph, {});
  return builder.done();
}

}  // namespace ddpscope::standin
