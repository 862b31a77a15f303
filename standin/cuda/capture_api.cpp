// Entry points for stream capture.
#include <cuda_runtime_api.h>

#include "standin/cuda/capture.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/stream.h"

using namespace ddpscope::standin;

namespace {

constexpr cudaGraphEdgeData kPlainEdges[64] = {};

// All edges are plain here, so a few of them serve all.
const cudaGraphEdgeData* plain_edges(std::size_t count) {
  require(count <= std::size(kPlainEdges), cudaErrorNotSupported);
  return kPlainEdges;
}

}  // namespace

extern "C" {

RUNTIME_API(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode)) {
  return enter([&] {
    begin_capture(find_stream(stream), mode, nullptr, {});
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamBeginCaptureToGraph,
            (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
             [[maybe_unused]] const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode),
            (stream, graph, dependencies, edges, count, mode)) {
  return enter([&] {
    require(graph != nullptr, cudaErrorInvalidValue);
    begin_capture(find_stream(stream), mode, graph, find_nodes(dependencies, count));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph)) {
  return enter([&] {
    require(graph != nullptr, cudaErrorInvalidValue);
    *graph = nullptr;
    *graph = end_capture(find_stream(stream));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status), (stream, status)) {
  return enter([&] {
    require(status != nullptr, cudaErrorInvalidValue);
    const StreamRef asked = find_stream(stream);
    *status = captures_run() ? capture_state(*asked).status : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamGetCaptureInfo,
            (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
             const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
            (stream, status, id, graph, dependencies, edges, count)) {
  return enter([&] {
    require(status != nullptr && (!edges || dependencies), cudaErrorInvalidValue);
    const StreamRef asked = find_stream(stream);
    const CaptureState state = captures_run() ? capture_state(*asked) : CaptureState{};
    *status = state.status;
    if (id) *id = state.id;
    if (graph) *graph = state.graph;
    if (dependencies) *dependencies = state.dependencies;
    if (edges) *edges = plain_edges(state.count);
    if (count) *count = state.count;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaStreamUpdateCaptureDependencies,
            (cudaStream_t stream, cudaGraphNode_t* dependencies,
             [[maybe_unused]] const cudaGraphEdgeData* edges, size_t count, unsigned int flags),
            (stream, dependencies, edges, count, flags)) {
  return enter([&] {
    require(flags <= cudaStreamSetCaptureDependencies, cudaErrorInvalidValue);
    update_dependencies(*find_stream(stream), find_nodes(dependencies, count),
                        flags == cudaStreamSetCaptureDependencies);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), (mode)) {
  return enter([&] {
    require(mode != nullptr, cudaErrorInvalidValue);
    exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}

}  // extern "C"
