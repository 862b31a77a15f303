// Stream capture, and graphs that are made ready and launched.
#include "injector/cuda/captures.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture<Call::cudaStreamBeginCapture>(
      &cudaStreamBeginCapture, {stream, nullptr, static_cast<unsigned>(mode)}, stream, mode);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                          const cudaGraphNode_t* dependencies,
                                                          const cudaGraphEdgeData* dependencyData,
                                                          size_t numDependencies,
                                                          cudaStreamCaptureMode mode) {
  return begin_capture<Call::cudaStreamBeginCaptureToGraph>(
      &cudaStreamBeginCaptureToGraph, {stream, nullptr, static_cast<unsigned>(mode)}, stream, graph,
      dependencies, dependencyData, numDependencies, mode);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return end_capture<Call::cudaStreamEndCapture>(&cudaStreamEndCapture, stream, pGraph);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return launch_graph<Call::cudaGraphLaunch>(&cudaGraphLaunch, graphExec, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                          unsigned long long flags) {
  return make_graph<Call::cudaGraphInstantiateWithFlags>(&cudaGraphInstantiateWithFlags, graph, pGraphExec,
                                                         flags, pGraphExec, graph, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                           cudaGraphInstantiateParams* instantiateParams) {
  return make_graph<Call::cudaGraphInstantiateWithParams>(&cudaGraphInstantiateWithParams, graph, pGraphExec,
                                                          instantiateParams ? instantiateParams->flags : 0,
                                                          pGraphExec, graph, instantiateParams);
}

// CUDA 11's two of these names take four and five arguments, CUDA 12's three: all are handed on, whatever
// they are.
extern "C" {
cudaError_t instantiate_graph(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, std::uintptr_t third,
                              std::uintptr_t fourth, std::uintptr_t fifth) __asm__("cudaGraphInstantiate");
cudaError_t update_graph(cudaGraphExec_t graphExec, cudaGraph_t graph, std::uintptr_t third,
                         std::uintptr_t fourth) __asm__("cudaGraphExecUpdate");
}

DDPSCOPE_EXPORT cudaError_t instantiate_graph(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                              std::uintptr_t third, std::uintptr_t fourth,
                                              std::uintptr_t fifth) {
  return make_graph<Call::cudaGraphInstantiate>(&instantiate_graph, graph, pGraphExec, 0, pGraphExec, graph,
                                                third, fourth, fifth);
}

DDPSCOPE_EXPORT cudaError_t update_graph(cudaGraphExec_t graphExec, cudaGraph_t graph, std::uintptr_t third,
                                         std::uintptr_t fourth) {
  return make_graph<Call::cudaGraphExecUpdate>(&update_graph, graph, &graphExec, 0, graphExec, graph, third,
                                               fourth);
}
