// What ranks do together: collectives alone, in a graph, in training steps.
#include "tests/gpu/guest/ranks.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tests/gpu/guest/kernels.h"

namespace {

struct Pipe {
  Pipe() { require(pipe(ends) == 0, "a pipe"); }
  int ends[2];
};

ncclUniqueId share_id(int rank, const std::vector<Pipe>& pipes) {
  ncclUniqueId id;
  if (rank == 0) {
    check(ncclGetUniqueId(&id), "an id");
    for (const Pipe& pipe : pipes) require(write(pipe.ends[1], &id, sizeof id) == sizeof id, "an id's way");
  }
  require(read(pipes[static_cast<std::size_t>(rank)].ends[0], &id, sizeof id) == sizeof id, "an id's way");
  return id;
}

Rank join(int rank, int size, const std::vector<Pipe>& pipes) {
  const std::string own = std::to_string(rank);
  setenv("RANK", own.c_str(), 1);
  setenv("LOCAL_RANK", own.c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  if (size > 1) setenv("NCCL_HOSTID", ("rank" + own).c_str(), 0);
  check(cudaSetDevice(0), "the device");
  Rank joined{rank, size, nullptr};
  check(ncclCommInitRank(&joined.communicator, size, share_id(rank, pipes), rank), "a communicator");
  return joined;
}

void all_reduce(const Rank& rank, const Floats& from, const Floats& to, cudaStream_t stream) {
  check(ncclAllReduce(from.data, to.data, from.count, ncclFloat, ncclSum, rank.communicator, stream),
        "ncclAllReduce");
}

double since_ms(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int run_ranks(int count, const Numbers& numbers, void (*story)(const Rank&, const Numbers&)) {
  const std::vector<Pipe> pipes(static_cast<std::size_t>(count));
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    require(child >= 0, "a process");
    if (child == 0) {
      const Rank joined = join(rank, count, pipes);
      story(joined, numbers);
      check(ncclCommDestroy(joined.communicator), "ncclCommDestroy");
      std::exit(0);
    }
    ranks.push_back(child);
  }
  int worst = 0;
  for (pid_t child : ranks) {
    int status = 0;
    waitpid(child, &status, 0);
    worst = std::max(worst, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
  return worst;
}

void reduce(const Rank& rank, const Numbers& bytes) {
  const Stream stream;
  const Event begin(cudaEventDefault), end(cudaEventDefault);
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  if (rank.rank == 0) std::printf("{\"nccl\": %d}\n", version);
  for (unsigned long size : bytes) {
    const Floats from(size / sizeof(float), static_cast<float>(1 + rank.rank)), to(from.count, 0);
    float ms = 0, least = 0;
    for (int i = 0; i < 5; ++i) {
      check(cudaEventRecord(begin, stream), "an event's record");
      all_reduce(rank, from, to, stream);
      check(cudaEventRecord(end, stream), "an event's record");
      stream.wait();
      check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
      least = i == 0 ? ms : std::min(least, ms);
    }
    const int sum = rank.size * (rank.size + 1) / 2;
    require(to.all(static_cast<float>(sum)), "the sum is wrong");
    std::printf("{\"rank\": %d, \"bytes\": %lu, \"least_ms\": %.6f}\n", rank.rank, size,
                static_cast<double>(least));
  }
}

void replay(const Rank& rank, const Numbers& replays) {
  const Stream compute, communication;
  const Event ready, reduced;
  const Floats gradients(1 << 16, 0), sums(gradients.count, 0);
  all_reduce(rank, gradients, sums, communication);  // NCCL connects now, and not under capture
  communication.wait();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  launch_add(gradients.data, 1, static_cast<int>(gradients.count), compute);
  ready.order(compute, communication);
  all_reduce(rank, gradients, sums, communication);
  reduced.order(communication, compute);
  launch_add(sums.data, 1, static_cast<int>(sums.count), compute);
  check(cudaStreamEndCapture(compute, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (unsigned long i = 0; i < replays[0]; ++i)
    check(cudaGraphLaunch(executable, compute), "cudaGraphLaunch");
  compute.wait();
  check(cudaGetLastError(), "the last error");
  const auto times = static_cast<float>(replays[0]);
  require(gradients.all(times), "a replay's kernel is wrong");
  require(sums.all(times * static_cast<float>(rank.size) + 1), "a replay's collective is wrong");
  std::printf("{\"rank\": %d, \"replays\": %lu}\n", rank.rank, replays[0]);
}

void train(const Rank& rank, const Numbers& shape) {
  const unsigned long steps = shape[0], kernels = shape[1], ns = shape[2], buckets = shape[3];
  const Stream compute, communication;
  const Event ready, reduced;
  const Floats gradients(shape[4], 1), sums(shape[4], 0);
  float* loss = nullptr;
  check(cudaMallocHost(reinterpret_cast<void**>(&loss), sizeof(float)), "pinned memory");
  for (unsigned long step = 0; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned long kernel = 0; kernel < kernels; ++kernel) {
      launch_busy(ns, compute);
      if ((kernel + 1) * buckets / kernels == kernel * buckets / kernels) continue;
      ready.order(compute, communication);
      all_reduce(rank, gradients, sums, communication);
    }
    reduced.order(communication, compute);
    check(cudaMemcpyAsync(loss, sums.data, sizeof(float), cudaMemcpyDeviceToHost, compute), "the loss");
    compute.wait();
    require(*loss == static_cast<float>(rank.size), "the sum is wrong");
    if (rank.rank == 0) std::printf("{\"step_ms\": %.6f}\n", since_ms(begin));
  }
}
