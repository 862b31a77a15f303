// One rank whose calls a profiler plugin, or NVTX, is told of.
#include "nccl_rank.h"

namespace {

cudaStream_t stream;

ncclComm_t start() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "world";
  ncclComm_t world = nullptr;
  REQUIRE_NCCL(ncclCommInitRankConfig(&world, job().size, shared_id("id"), job().rank, &config));
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return world;
}

void finish(ncclComm_t communicator) {
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE_NCCL(ncclCommDestroy(communicator));
}

void one_call() {
  const ncclComm_t world = start();
  DeviceBuffer<float> buffer(1000);
  REQUIRE_NCCL(ncclAllReduce(buffer.get(), buffer.get(), 1000, ncclFloat, ncclSum, world, stream));
  finish(world);
}

void all_calls() {
  const ncclComm_t world = start();
  const auto size = static_cast<std::size_t>(job().size);
  const int next = (job().rank + 1) % job().size, before = (job().rank + job().size - 1) % job().size;
  DeviceBuffer<float> from(100 * size), to(100 * size);
  REQUIRE_NCCL(ncclAllReduce(from.get(), to.get(), 100, ncclFloat, ncclMax, world, stream));
  REQUIRE_NCCL(ncclAllGather(from.get(), to.get(), 100, ncclFloat, world, stream));
  REQUIRE_NCCL(ncclReduceScatter(from.get(), to.get(), 100, ncclFloat, ncclSum, world, stream));
  REQUIRE_NCCL(ncclBroadcast(from.get(), to.get(), 100, ncclFloat, 1, world, stream));
  REQUIRE_NCCL(ncclReduce(from.get(), to.get(), 100, ncclFloat, ncclSum, 1, world, stream));
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclAllReduce(from.get(), from.get(), 50, ncclInt32, ncclSum, world, stream));
  REQUIRE_NCCL(ncclSend(from.get(), 10, ncclFloat, next, world, stream));
  REQUIRE_NCCL(ncclRecv(to.get(), 10, ncclFloat, before, world, stream));
  REQUIRE_NCCL(ncclGroupEnd());
  ncclComm_t half = nullptr;
  REQUIRE_NCCL(ncclCommSplit(world, job().rank, 0, &half, nullptr));
  REQUIRE_NCCL(ncclAllReduce(from.get(), from.get(), 10, ncclFloat, ncclSum, half, stream));
  finish(half);
  finish(world);
}

void captured() {
  const ncclComm_t world = start();
  DeviceBuffer<float> buffer(1000);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  REQUIRE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE_NCCL(ncclAllReduce(buffer.get(), buffer.get(), 1000, ncclFloat, ncclSum, world, stream));
  REQUIRE_CUDA(cudaStreamEndCapture(stream, &graph));
  REQUIRE_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE_NCCL(ncclAllReduce(buffer.get(), buffer.get(), 1000, ncclFloat, ncclSum, world, stream));
  finish(world);
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv, {{"one-call", one_call}, {"all-calls", all_calls}, {"captured", captured}});
}
