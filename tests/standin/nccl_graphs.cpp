// Collectives in CUDA graphs: captured once, run by each launch, in order with those that are not captured.
#include <algorithm>

#include "nccl_rank.h"

namespace {

cudaStream_t new_stream() {
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void begin(cudaStream_t stream) {
  REQUIRE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

cudaGraphExec_t ended(cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  REQUIRE_CUDA(cudaStreamEndCapture(stream, &graph));
  REQUIRE_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  REQUIRE_CUDA(cudaGraphDestroy(graph));
  return exec;
}

using Floats = DeviceBuffer<float>;

void add_up(const Floats& values, std::size_t count, ncclComm_t comm, cudaStream_t stream) {
  REQUIRE_NCCL(ncclAllReduce(values.get(), values.get(), count, ncclFloat32, ncclSum, comm, stream));
}

/// Everybody starts with 1: after n sums over all ranks each has size^n.
float power(int exponent) {
  float all = 1;
  for (int i = 0; i < exponent; ++i) all *= static_cast<float>(job().size);
  return all;
}

void each_launch_communicates() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const Floats values(std::vector<float>(1000, 1.0F));
  begin(stream);
  add_up(values, 1000, comm, stream);
  const cudaGraphExec_t exec = ended(stream);
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (const float value : values.values()) REQUIRE(value == 1.0F);  // nothing has run
  for (int i = 0; i < 5; ++i) REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (const float value : values.values()) REQUIRE(value == power(5));
  REQUIRE_CUDA(cudaGraphExecDestroy(exec));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// In a graph, beside it on the same stream, and on other streams: one order on all ranks.
void keeps_its_order_with_what_is_not_captured() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t first = new_stream(), second = new_stream(), third = new_stream();
  const Floats small(std::vector<float>(10, 1.0F)), large(std::vector<float>(50000, 1.0F)),
      other(std::vector<float>(300, 1.0F));
  add_up(other, 300, comm, third);  // on its way when the capture begins
  begin(first);
  add_up(small, 10, comm, first);
  add_up(large, 50000, comm, first);
  const cudaGraphExec_t exec = ended(first);
  for (int i = 0; i < 5; ++i) {
    REQUIRE_CUDA(cudaGraphLaunch(exec, first));
    add_up(other, 300, comm, second);
    add_up(large, 50000, comm, first);
  }
  for (const cudaStream_t stream : {first, second, third}) REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (const float value : small.values()) REQUIRE(value == power(5));
  for (const float value : large.values()) REQUIRE(value == power(10));
  for (const float value : other.values()) REQUIRE(value == power(6));
}

/// A group of collectives and messages, over two streams of which one is drawn in by the other's event.
void groups_and_forks() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream(), beside = new_stream();
  const Floats sums(std::vector<float>(10, 1.0F)), more(std::vector<float>(10, 1.0F)),
      mine(std::vector<float>{static_cast<float>(job().rank)}), got(1);
  cudaEvent_t fork, join;
  REQUIRE_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  REQUIRE_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  begin(stream);
  REQUIRE_CUDA(cudaEventRecord(fork, stream));
  REQUIRE_CUDA(cudaStreamWaitEvent(beside, fork, 0));
  REQUIRE_NCCL(ncclGroupStart());
  add_up(sums, 10, comm, stream);
  REQUIRE_NCCL(ncclSend(mine.get(), 1, ncclFloat32, (job().rank + 1) % job().size, comm, beside));
  REQUIRE_NCCL(ncclRecv(got.get(), 1, ncclFloat32, (job().rank + job().size - 1) % job().size, comm, beside));
  REQUIRE_NCCL(ncclGroupEnd());
  add_up(more, 10, comm, beside);  // side by side with the next, but for the communicator's order
  add_up(sums, 10, comm, stream);
  REQUIRE_CUDA(cudaEventRecord(join, beside));
  REQUIRE_CUDA(cudaStreamWaitEvent(stream, join, 0));
  const cudaGraphExec_t exec = ended(stream);
  for (int i = 0; i < 3; ++i) REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(sums.values()[9] == power(6));
  REQUIRE(more.values()[0] == power(3));
  REQUIRE(got.values()[0] == static_cast<float>((job().rank + job().size - 1) % job().size));
}

void half_captured_groups_are_refused() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream(), outside = new_stream();
  const Floats values(std::vector<float>(10, 1.0F));
  begin(stream);
  REQUIRE_NCCL(ncclGroupStart());
  add_up(values, 5, comm, stream);
  add_up(values, 5, comm, outside);
  REQUIRE(ncclGroupEnd() == ncclInvalidUsage);
}

/// Two communicators in one graph, and the communicators outlived by their graph.
void outlives_its_communicators() {
  const ncclComm_t comm = make_communicator();
  ncclComm_t half = nullptr;
  REQUIRE_NCCL(ncclCommSplit(comm, job().rank % 2, job().rank, &half, nullptr));
  const cudaStream_t stream = new_stream();
  const Floats values(std::vector<float>(10, 1.0F));
  begin(stream);
  add_up(values, 10, comm, stream);
  add_up(values, 10, half, stream);
  const cudaGraphExec_t exec = ended(stream);
  REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE_NCCL(ncclCommDestroy(half));
  REQUIRE_NCCL(ncclCommDestroy(comm));
  const auto ranks = static_cast<float>(job().size);
  const float of_half = job().rank % 2 == 0 ? (ranks + 1) / 2 : ranks / 2;
  REQUIRE(values.values()[0] == ranks * static_cast<float>(static_cast<int>(of_half)));
  REQUIRE_CUDA(cudaGraphExecDestroy(exec));
}

/// One rank does not launch: the others hang as they would in an ordinary call, and abort releases them.
void a_launch_less_hangs() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const Floats values(std::vector<float>(10, 1.0F));
  begin(stream);
  add_up(values, 10, comm, stream);
  const cudaGraphExec_t exec = ended(stream);
  REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  await_notes_of_all("reduced");
  if (job().rank > 0) REQUIRE_CUDA(cudaGraphLaunch(exec, stream));
  const timespec while_it_hangs{0, 50'000'000};
  nanosleep(&while_it_hangs, nullptr);
  REQUIRE(pending(stream) == (job().rank > 0));
  await_notes_of_all("hung");
  REQUIRE_NCCL(ncclCommAbort(comm));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"each-launch-communicates", each_launch_communicates},
                       {"order", keeps_its_order_with_what_is_not_captured},
                       {"groups-and-forks", groups_and_forks},
                       {"half-captured", half_captured_groups_are_refused},
                       {"outlives", outlives_its_communicators},
                       {"a-launch-less", a_launch_less_hangs}});
}
