// Runs of graphs: the first lane is run by the stream of the launch, each other one by a stream beside it.
#include "standin/cuda/graph_exec.h"

#include <algorithm>

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
  if (captures_run() &&
      capture_node(*stream, {.type = cudaGraphNodeTypeGraph, .child = embed(graph_->copy())}))
    return;
  std::lock_guard lock(launching_);
  if (!program_) program_ = make_program(*graph_);
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

namespace {

GraphNode* copy_within(const Graph& graph, const GraphNode& original) {
  if (GraphNode* const copy = graph.copy_of(original)) return copy;
  for (const auto& node : graph.nodes()) {
    for (const GraphRef& embedded : node->does.graphs())
      if (GraphNode* const copy = copy_within(*embedded, original)) return copy;
  }
  return nullptr;
}

bool is_flat_copy(const NodeWork& does) {
  if (!does.parameters) return false;
  const cudaExtent& extent = does.parameters->memcpy.copyParams.extent;
  return extent.height == 1 && extent.depth == 1;
}

}  // namespace

GraphNode& GraphExec::own_node(const GraphNode& original) const {
  GraphNode* const node = copy_within(*graph_, original);
  require(node != nullptr, cudaErrorInvalidValue);
  return *node;
}

const GraphNode& GraphExec::node_of(const GraphNode& original) const { return own_node(original); }

void GraphExec::change(const GraphNode& original, NodeWork does) {
  GraphNode& node = own_node(original);
  does = in_place_of(node.does, std::move(does));
  require(compare(node.does, does) == cudaGraphExecUpdateSuccess, cudaErrorInvalidValue);
  require(does.type != cudaGraphNodeTypeMemcpy || (is_flat_copy(node.does) && is_flat_copy(does)),
          cudaErrorInvalidValue);
  std::lock_guard lock(launching_);
  node.does = std::move(does);
  program_.reset();
}

void GraphExec::change_child(const GraphNode& original, const Graph& graph) {
  const GraphNode& node = own_node(original);
  require(node.does.child != nullptr, cudaErrorInvalidValue);
  const GraphNode* differs = nullptr;
  require(compare(*node.does.child, graph, differs) == cudaGraphExecUpdateSuccess, cudaErrorInvalidValue);
  std::lock_guard lock(launching_);
  take_over(*node.does.child, graph);
  program_.reset();
}

void GraphExec::enable(const GraphNode& original, bool enabled) {
  GraphNode& node = own_node(original);
  std::lock_guard lock(launching_);
  node.enabled = enabled;
  program_.reset();
}

cudaGraphExecUpdateResult GraphExec::update(const Graph& graph, const GraphNode*& differs) {
  const auto result = compare(*graph_, graph, differs);
  if (result != cudaGraphExecUpdateSuccess) return result;
  std::lock_guard lock(launching_);
  take_over(*graph_, graph);
  graph_->keeps = graph.keeps;
  program_.reset();
  return result;
}

cudaGraphExec_t add_exec(std::shared_ptr<GraphExec> exec) { return execs().add(std::move(exec)); }
std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle) { return execs().find(handle); }
std::shared_ptr<GraphExec> take_exec(cudaGraphExec_t handle) { return execs().take(handle); }

}  // namespace ddpscope::standin
