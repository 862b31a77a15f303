// A graph that a test builds node by node, and a log of the nodes that ran.
#pragma once

#include "tests/standin/cuda_gate.h"
#include "tests/standin/cuda_kernels.h"

struct GraphTest : CudaTest {
  void SetUp() override {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaMalloc(&memory, 64));
    OK(cudaMemset(memory, 0, 64));
    OK(cudaDeviceSynchronize());  // the fill goes to the legacy stream, for which `stream` does not wait
  }

  static cudaHostNodeParams saying(Log::Line& line) {
    return {[](void* data) {
              const Log::Line& came = *static_cast<Log::Line*>(data);
              came.log->add(came.letter);
            },
            &line};
  }

  cudaGraphNode_t host(Log::Line& line, std::initializer_list<cudaGraphNode_t> after = {}) {
    const cudaHostNodeParams params = saying(line);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddHostNode(&node, graph, std::data(after), after.size(), &params), cudaSuccess);
    return node;
  }

  cudaGraphExec_t instantiated() {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    return exec;
  }

  void run(cudaGraphExec_t exec) {
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
  }

  static cudaKernelNodeParams count_kernel(void** arguments) {
    return {const_cast<void*>(count_function()), dim3(1), dim3(2), 0, arguments, nullptr};
  }

  Log log;
  Log::Line a{&log, 'a'}, b{&log, 'b'}, c{&log, 'c'};
  cudaStream_t stream;
  cudaGraph_t graph;
  int* memory;
};
