// Runs of graphs: the first lane is run by the stream of the launch, each other one by a stream beside it.
#include "standin/cuda/graph_exec.h"

#include <algorithm>
#include <map>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/user_object.h"

namespace ddpscope::standin {
namespace {

/// The value of each condition at a launch.
void assign_conditions(const GraphProgram& program) {
  for (const GraphProgram::Step& step : program.steps) {
    if (!step.does.conditional) continue;
    Condition& condition = *step.does.conditional->condition;
    if (condition.assigned) condition.value = condition.initial;
    for (const auto& body : step.bodies) assign_conditions(*body);
  }
}

Work work_of(const GraphProgram& program, const GraphProgram::Step& step, const StreamRef& stream);

/// A body runs within the step of its node, and what it does with events is settled then.
void run_body(const GraphProgram& body, const StreamRef& stream) {
  for (const GraphProgram::Step& step : body.steps)
    if (const Work work = work_of(body, step, stream)) work();
}

void run_conditional(const GraphProgram::Step& step, const StreamRef& stream) {
  const std::atomic<unsigned>& value = step.does.conditional->condition->value;
  const auto run = [&](std::size_t body) {
    if (body < step.bodies.size()) run_body(*step.bodies[body], stream);
  };
  switch (step.does.conditional->type) {
    case cudaGraphCondTypeIf:
      return run(value ? 0 : 1);
    case cudaGraphCondTypeWhile:
      while (value) run(0);
      return;
    case cudaGraphCondTypeSwitch:
      return run(value);
  }
}

Work work_of(const GraphProgram& program, const GraphProgram::Step& step, const StreamRef& stream) {
  const NodeWork& does = step.does;
  if (does.conditional) return [&step, stream] { run_conditional(step, stream); };
  if (does.type == cudaGraphNodeTypeEventRecord) return does.event->record_in_graph();
  if (does.type == cudaGraphNodeTypeWaitEvent) {
    const Record record = does.event->latest();
    return record.captured ? Work{} : [mark = record.mark] { mark.wait(); };
  }
  if (!does.activity) return does.work;
  Activity activity = *does.activity;
  activity.stream = stream->id();
  activity.graph = program.graph;
  activity.node = step.node;
  auto run = observed_run(activity);
  return run ? observed_work(std::move(run), does.work) : does.work;
}

/// One launch. What it does with events is settled when it is launched: a later launch records them anew.
class GraphRun {
 public:
  GraphRun(std::shared_ptr<const GraphProgram> program, const std::vector<StreamRef>& streams)
      : program_(std::move(program)), done_(program_->steps.size()) {
    for (const GraphProgram::Step& step : program_->steps)
      work_.push_back(work_of(*program_, step, streams[step.lane]));
  }

  void run_lane(std::size_t lane) {
    for (const std::uint32_t step : program_->lanes[lane]) {
      wait_for(program_->steps[step].needs);
      if (work_[step]) work_[step]();
      std::lock_guard lock(mutex_);
      done_[step] = true;
      ++count_;
      came_on_.notify_all();
    }
  }

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    came_on_.wait(lock, [&] { return count_ == done_.size(); });
  }

 private:
  void wait_for(const std::vector<std::uint32_t>& needs) {
    if (needs.empty()) return;
    std::unique_lock lock(mutex_);
    came_on_.wait(lock, [&] { return std::ranges::all_of(needs, [&](auto need) { return done_[need]; }); });
  }

  const std::shared_ptr<const GraphProgram> program_;
  std::vector<Work> work_;  // by step
  std::mutex mutex_;
  std::condition_variable came_on_;
  std::vector<bool> done_;
  std::size_t count_ = 0;
};

HandleTable<cudaGraphExec_t, GraphExec>& execs() {
  static auto* table = new HandleTable<cudaGraphExec_t, GraphExec>;
  return *table;
}

}  // namespace

GraphExec::GraphExec(GraphRef graph, unsigned long long flags)
    : flags_(flags), graph_(std::move(graph)), program_(make_program(*graph_)) {}

GraphExec::~GraphExec() {
  for (const StreamRef& stream : beside_) stream->close();
}

void GraphExec::launch(const StreamRef& stream) {
  if (captures_run() && capture_node(*stream, {.type = cudaGraphNodeTypeGraph, .child = graph_->copy()}))
    return;
  std::lock_guard lock(launching_);
  while (beside_.size() + 1 < program_->lanes.size())
    beside_.push_back(stream->device().create_stream(StreamKind::kNonBlocking, stream->priority()));
  std::vector<StreamRef> lanes{stream};
  lanes.insert(lanes.end(), beside_.begin(), beside_.end());
  auto run = std::make_shared<GraphRun>(program_, lanes);
  const auto start = [self = shared_from_this(), run, program = program_, beside = beside_] {
    const std::size_t count = program->lanes.size();
    assign_conditions(*program);
    for (std::size_t lane = 1; lane < count; ++lane)
      beside[lane - 1]->push([run, lane] { run->run_lane(lane); }, {});
    run->run_lane(0);
    run->wait_for_all();
  };
  last_ = submit(stream, start, {last_});
}

GraphNode& GraphExec::node_of(const GraphNode& original) const {
  GraphNode* const node = graph_->copy_of(original);
  require(node != nullptr, cudaErrorInvalidValue);
  return *node;
}

void GraphExec::change(GraphNode& node, NodeWork does) {
  require(node.does.type == does.type, cudaErrorInvalidValue);
  std::lock_guard lock(launching_);
  node.does = std::move(does);
  program_ = make_program(*graph_);
}

namespace {

using Places = std::map<const GraphNode*, std::size_t>;

Places places_of(const Graph& graph) {
  Places places;
  for (const auto& node : graph.nodes()) places.emplace(node.get(), places.size());
  return places;
}

bool needs_alike(const GraphNode& a, const Places& in_a, const GraphNode& b, const Places& in_b) {
  const auto needs = [](const GraphNode& node, const Places& places) {
    std::vector<std::size_t> all;
    for (const GraphNode* needed : node.dependencies) all.push_back(places.at(needed));
    std::ranges::sort(all);
    return all;
  };
  return needs(a, in_a) == needs(b, in_b);
}

cudaGraphExecUpdateResult compare(const Graph& old, const Graph& fresh, const GraphNode*& differs) {
  differs = nullptr;
  const auto &was = old.nodes(), &is = fresh.nodes();
  if (was.size() != is.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  const Places in_old = places_of(old), in_fresh = places_of(fresh);
  for (std::size_t i = 0; i < is.size(); ++i) {
    differs = is[i].get();
    if (!needs_alike(*was[i], in_old, *is[i], in_fresh)) return cudaGraphExecUpdateErrorTopologyChanged;
    if (was[i]->does.type != is[i]->does.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (!was[i]->does.child) continue;
    const GraphNode* within = nullptr;
    const auto result = compare(*was[i]->does.child, *is[i]->does.child, within);
    if (result != cudaGraphExecUpdateSuccess) return result;
  }
  differs = nullptr;
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

// The handles of nodes that this exec was made of stay good for it, as in CUDA.
cudaGraphExecUpdateResult GraphExec::update(const Graph& graph, const GraphNode*& differs) {
  const auto result = compare(*graph_, graph, differs);
  if (result != cudaGraphExecUpdateSuccess) return result;
  std::lock_guard lock(launching_);
  const GraphRef fresh = graph.copy();
  for (std::size_t i = 0; i < graph_->nodes().size(); ++i)
    fresh->nodes()[i]->original = graph_->nodes()[i]->original;
  graph_ = fresh;
  program_ = make_program(*graph_);
  return result;
}

cudaGraphExec_t add_exec(std::shared_ptr<GraphExec> exec) { return execs().add(std::move(exec)); }
std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle) { return execs().find(handle); }
std::shared_ptr<GraphExec> take_exec(cudaGraphExec_t handle) { return execs().take(handle); }

}  // namespace ddpscope::standin
