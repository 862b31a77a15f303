// Functions for graphs and captures that CUDA 13 has with one parameter more, the data of edges. All edges
// are plain in the stand-in, so nothing is lost without it.
#include "standin/cuda12/cudart/newer.h"

// clang-format off: one line an entry point
#define WITHOUT_EDGES(function, parameters, arguments) \
  OLDER(function, parameters) { return NEWER(function) arguments; }

// Also in the form for programs whose default stream is one of each thread.
#define WITHOUT_EDGES_ON_STREAM(function, newer, parameters, arguments) \
  OLDER(function, parameters) { return NEWER(newer) arguments; }        \
  OLDER(function##_ptsz, parameters) { return NEWER_LIKE(newer, newer##_ptsz) arguments; }

WITHOUT_EDGES(cudaGraphAddDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
              (graph, from, to, nullptr, count))
WITHOUT_EDGES(cudaGraphRemoveDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
              (graph, from, to, nullptr, count))
WITHOUT_EDGES(cudaGraphAddNode,
              (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
               cudaGraphNodeParams* params),
              (node, graph, dependencies, nullptr, count, params))
WITHOUT_EDGES(cudaGraphGetEdges,
              (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count),
              (graph, from, to, nullptr, count))
WITHOUT_EDGES(cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count),
              (node, nodes, nullptr, count))
WITHOUT_EDGES(cudaGraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count),
              (node, nodes, nullptr, count))

WITHOUT_EDGES_ON_STREAM(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo,
                        (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id),
                        (stream, status, id, nullptr, nullptr, nullptr, nullptr))
WITHOUT_EDGES_ON_STREAM(cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo,
                        (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count),
                        (stream, status, id, graph, dependencies, nullptr, count))
WITHOUT_EDGES_ON_STREAM(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies,
                        (cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count, unsigned flags),
                        (stream, dependencies, nullptr, count, flags))
// clang-format on
