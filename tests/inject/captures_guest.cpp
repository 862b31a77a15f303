// A program that captures collectives, copies and fills into graphs, in the capture mode that its argument
// names.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr std::size_t kCount = 1000;

void check(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), _exit(3);
}
void check(ncclResult_t error) {
  if (error != ncclSuccess) std::fprintf(stderr, "%s\n", ncclGetErrorString(error)), _exit(4);
}

ncclComm_t communicator;
cudaStream_t stream, beside;
cudaEvent_t event;
float* data;

void reduce(cudaStream_t on) {
  check(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, communicator, on));
}

// Two collectives, a group of two more on a stream that is drawn in, a fill and a copy to the host.
void put_into_graph(float* host) {
  reduce(stream);
  check(cudaEventRecord(event, stream));
  check(cudaStreamWaitEvent(beside, event, 0));
  check(ncclGroupStart());
  reduce(beside);
  reduce(beside);
  check(ncclGroupEnd());
  check(cudaEventRecord(event, beside));
  check(cudaStreamWaitEvent(stream, event, 0));
  check(cudaMemsetAsync(data + 1, 0, sizeof(float), stream));
  check(cudaMemcpyAsync(host, data, sizeof(float), cudaMemcpyDeviceToHost, stream));
  reduce(stream);
}

cudaGraphExec_t capture(cudaStreamCaptureMode mode, float* host) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check(cudaStreamBeginCapture(stream, mode));
  put_into_graph(host);
  // Long enough for whatever else is at work in this process to come by.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&exec, graph, 0));
  check(cudaGraphDestroy(graph));
  return exec;
}

}  // namespace

int main(int, char** arguments) {
  const std::string name = arguments[1];
  const auto mode = name == "global"         ? cudaStreamCaptureModeGlobal
                    : name == "thread-local" ? cudaStreamCaptureModeThreadLocal
                                             : cudaStreamCaptureModeRelaxed;
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&communicator, 1, id, 0));
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  check(cudaMalloc(&data, kCount * sizeof(float)));
  float* host;
  check(cudaMallocHost(&host, sizeof(float)));
  const float one = 1;
  check(cudaMemcpy(data, &one, sizeof one, cudaMemcpyHostToDevice));
  for (int i = 0; i < 20; ++i) reduce(stream);  // times of these are still to be read when the capture begins
  const cudaGraphExec_t exec = capture(mode, host);
  for (int i = 0; i < 50; ++i) check(cudaGraphLaunch(exec, stream));
  reduce(stream);
  check(cudaStreamSynchronize(stream));
  std::printf("%g\n", *host);
  return cudaGetLastError() == cudaSuccess ? 0 : 5;
}
