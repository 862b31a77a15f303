// Which streams capture into which graph, and what other calls may not do meanwhile. One lock for all: there
// are few captures, and who captures does little else.
#include "standin/cuda/capture.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/event.h"
#include "standin/cuda/graph.h"

namespace ddpscope::standin {

namespace detail {
constinit std::atomic<int> running_captures{0};
}

class Capture {
 public:
  struct Branch {
    StreamRef stream;
    std::vector<GraphNode*> dependencies;  // of what the stream gets next
    std::vector<cudaGraphNode_t> handles;  // the same, as the API shows them
  };

  unsigned long long id;
  cudaStreamCaptureMode mode;
  const void* thread;
  const Stream* origin;
  GraphRef graph;
  cudaGraph_t handle;
  bool graph_is_ours;
  bool invalid = false;
  std::map<const Stream*, Branch> branches = {};

  void require_valid() const { require(!invalid, cudaErrorStreamCaptureInvalidated); }
};

namespace {

using CaptureRef = std::shared_ptr<Capture>;

struct Captures {
  std::mutex mutex;
  std::vector<CaptureRef> all;
  unsigned long long last_id = 0;
};

Captures& captures() {
  static auto* instance = new Captures;
  return *instance;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

const void* this_thread() { return &thread_mode; }

// Needs the lock, as all that follows.
CaptureRef capture_of(const Stream& stream) {
  for (const CaptureRef& capture : captures().all) {
    if (capture->branches.contains(&stream)) return capture;
  }
  return nullptr;
}

void finish(const CaptureRef& capture) {
  std::erase(captures().all, capture);
  detail::running_captures.store(static_cast<int>(captures().all.size()), std::memory_order_release);
}

[[noreturn]] void fail(Capture& capture, cudaError_t error) {
  capture.invalid = true;
  throw Failure{error};
}

GraphNode* add_node(Capture& capture, const Stream& stream, NodeWork does) {
  capture.require_valid();
  Capture::Branch& branch = capture.branches.at(&stream);
  GraphNode& node = capture.graph->add(std::move(does), branch.dependencies);
  branch.dependencies.assign(1, &node);
  return &node;
}

void add_dependencies(Capture::Branch& branch, std::span<GraphNode* const> nodes) {
  for (GraphNode* node : nodes) {
    if (std::ranges::find(branch.dependencies, node) == branch.dependencies.end())
      branch.dependencies.push_back(node);
  }
}

bool all_joined(const Capture& capture) {
  std::set<const GraphNode*> behind;
  std::vector<const GraphNode*> open;
  const auto reach = [&](const std::vector<GraphNode*>& nodes) {
    for (const GraphNode* node : nodes) {
      if (behind.insert(node).second) open.push_back(node);
    }
  };
  reach(capture.branches.at(capture.origin).dependencies);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    reach(node->dependencies);
  }
  return std::ranges::all_of(capture.branches, [&](const auto& branch) {
    return std::ranges::all_of(branch.second.dependencies,
                               [&](const GraphNode* node) { return behind.contains(node); });
  });
}

// The legacy stream stands for all blocking streams of its device.
CaptureRef implied_by_legacy(const Stream& stream) {
  if (stream.kind() != StreamKind::kLegacy) return nullptr;
  for (const CaptureRef& capture : captures().all) {
    for (const auto& [captured, branch] : capture->branches) {
      if (captured->kind() == StreamKind::kBlocking && &captured->device() == &stream.device())
        return capture;
    }
  }
  return nullptr;
}

void refuse(const Stream& stream) {
  if (const CaptureRef capture = implied_by_legacy(stream)) fail(*capture, cudaErrorStreamCaptureImplicit);
  const CaptureRef capture = capture_of(stream);
  if (!capture) return;
  capture->require_valid();
  fail(*capture, cudaErrorStreamCaptureUnsupported);
}

}  // namespace

void begin_capture(const StreamRef& stream, cudaStreamCaptureMode mode, cudaGraph_t into,
                   std::span<GraphNode* const> dependencies) {
  require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
  require(stream->kind() != StreamKind::kLegacy, cudaErrorStreamCaptureUnsupported);
  const GraphRef graph = into ? find_graph(into) : std::make_shared<Graph>();
  for (const GraphNode* node : dependencies) require(graph->owns(*node), cudaErrorInvalidValue);
  std::lock_guard lock(captures().mutex);
  require(!capture_of(*stream), cudaErrorIllegalState);
  const cudaGraph_t handle = into ? into : add_graph(graph);
  auto capture = std::make_shared<Capture>(
      Capture{++captures().last_id, mode, this_thread(), stream.get(), graph, handle, into == nullptr});
  capture->branches[stream.get()] = {stream, {dependencies.begin(), dependencies.end()}, {}};
  captures().all.push_back(std::move(capture));
  detail::running_captures.store(static_cast<int>(captures().all.size()), std::memory_order_release);
}

cudaGraph_t end_capture(const StreamRef& stream) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(*stream);
  require(capture != nullptr, cudaErrorIllegalState);
  require(capture->mode == cudaStreamCaptureModeRelaxed || capture->thread == this_thread(),
          cudaErrorStreamCaptureWrongThread);
  if (capture->origin != stream.get()) fail(*capture, cudaErrorStreamCaptureUnmatched);
  finish(capture);
  const bool joined = all_joined(*capture);
  if (!capture->invalid && joined) return capture->handle;
  if (capture->graph_is_ours) take_graph(capture->handle);
  throw Failure{capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined};
}

void forget_captured(const Stream& stream) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(stream);
  if (!capture) return;
  capture->invalid = true;
  if (capture->origin == &stream) {
    if (capture->graph_is_ours) take_graph(capture->handle);
    finish(capture);
  } else {
    capture->branches.erase(&stream);
  }
}

CaptureState capture_state(const Stream& stream) {
  std::lock_guard lock(captures().mutex);
  require(!implied_by_legacy(stream), cudaErrorStreamCaptureImplicit);
  const CaptureRef capture = capture_of(stream);
  if (!capture) return {};
  if (capture->invalid) return {.status = cudaStreamCaptureStatusInvalidated, .id = capture->id};
  Capture::Branch& branch = capture->branches.at(&stream);
  branch.handles.clear();
  for (const GraphNode* node : branch.dependencies) branch.handles.push_back(handle_of(*node));
  return {cudaStreamCaptureStatusActive, capture->id, capture->handle, branch.handles.data(),
          branch.handles.size()};
}

void update_dependencies(const Stream& stream, std::span<GraphNode* const> nodes, bool replace) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(stream);
  require(capture != nullptr, cudaErrorIllegalState);
  capture->require_valid();
  for (const GraphNode* node : nodes) require(capture->graph->owns(*node), cudaErrorInvalidValue);
  Capture::Branch& branch = capture->branches.at(&stream);
  if (replace) branch.dependencies.clear();
  add_dependencies(branch, nodes);
}

void exchange_capture_mode(cudaStreamCaptureMode& mode) {
  require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
  std::swap(mode, thread_mode);
}

bool is_captured(const Stream& stream) {
  std::lock_guard lock(captures().mutex);
  return capture_of(stream) != nullptr;
}

GraphNode* capture_node(const Stream& stream, NodeWork does) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(stream);
  return capture ? add_node(*capture, stream, std::move(does)) : nullptr;
}

bool capture_activity(const Stream& stream, const Work& work, const Activity& activity) {
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                          cudaGraphNodeTypeMemset};
  return capture_node(stream, {.type = kTypes[activity.kind], .work = work, .activity = activity}) != nullptr;
}

std::shared_ptr<const CapturedPoint> captured_point(const Stream& stream) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(stream);
  if (!capture) return nullptr;
  capture->require_valid();
  return std::make_shared<CapturedPoint>(capture, capture->branches.at(&stream).dependencies);
}

namespace {

void join(const CaptureRef& capture, const StreamRef& stream, const CapturedPoint& point) {
  const CaptureRef of_event = point.capture.lock();
  require(of_event && std::ranges::count(captures().all, of_event) > 0, cudaErrorCapturedEvent);
  of_event->require_valid();
  require(stream->kind() != StreamKind::kLegacy, cudaErrorStreamCaptureImplicit);
  if (!capture) {
    of_event->branches[stream.get()] = {stream, point.nodes, {}};
    return;
  }
  capture->require_valid();
  if (capture != of_event) {
    of_event->invalid = true;
    fail(*capture, cudaErrorStreamCaptureMerge);
  }
  add_dependencies(capture->branches.at(stream.get()), point.nodes);
}

}  // namespace

bool capture_wait(const StreamRef& stream, const std::shared_ptr<Event>& event, const Record& record,
                  bool external) {
  std::lock_guard lock(captures().mutex);
  const CaptureRef capture = capture_of(*stream);
  if (capture && external) {
    add_node(*capture, *stream, {.type = cudaGraphNodeTypeWaitEvent, .event = event});
    return true;
  }
  if (record.captured) {
    join(capture, stream, *record.captured);
    return true;
  }
  if (!capture) return false;
  capture->require_valid();
  if (record.made) fail(*capture, cudaErrorStreamCaptureIsolation);
  return true;
}

void refuse_in_capture(const Stream& stream) {
  std::lock_guard lock(captures().mutex);
  refuse(stream);
}

void refuse_wait(const Stream& stream) {
  refuse_unsafe();
  refuse_in_capture(stream);
}

void refuse_wait(Device& device) {
  refuse_unsafe();
  std::lock_guard lock(captures().mutex);
  for (const CaptureRef& capture : captures().all) {
    for (const auto& [stream, branch] : capture->branches) {
      if (&stream->device() == &device) fail(*capture, cudaErrorStreamCaptureUnsupported);
    }
  }
}

void refuse_captured(const Record& record) {
  unsafe_in_capture();
  if (!record.captured) return;
  std::lock_guard lock(captures().mutex);
  if (const CaptureRef capture = record.captured->capture.lock()) capture->invalid = true;
  throw Failure{cudaErrorCapturedEvent};
}

void refuse_unsafe() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return;
  std::lock_guard lock(captures().mutex);
  bool refused = false;
  for (const CaptureRef& capture : captures().all) {
    const bool own = capture->thread == this_thread();
    const bool minds =
        own ? capture->mode != cudaStreamCaptureModeRelaxed
            : capture->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
    if (!minds) continue;
    capture->invalid = refused = true;
  }
  require(!refused, cudaErrorStreamCaptureUnsupported);
}

}  // namespace ddpscope::standin
