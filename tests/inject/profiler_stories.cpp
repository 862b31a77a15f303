// A program on CUDA and NCCL of which NCCL's profiler interface and NVTX ranges tell: one story an argument.
// A library, so that it can be bound with the hooks in front, or past them.
#include <cuda_runtime.h>
#include <errno.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "child.h"
#include "stories.h"

namespace {

constexpr std::size_t kCount = 1 << 20;

void check(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), _exit(3);
}
void check(ncclResult_t error) {
  if (error != ncclSuccess) std::fprintf(stderr, "%s\n", ncclGetErrorString(error)), _exit(4);
}

void sleep_ms(void* ms) { std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int*>(ms))); }

struct Rank {
  Rank(int number, ncclComm_t its) : device(number), communicator(its) {
    check(cudaSetDevice(device));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaMalloc(reinterpret_cast<void**>(&data), 2 * kCount * sizeof(float)));
  }
  void reduce(std::size_t count = kCount) {
    check(ncclAllReduce(data, data, count, ncclFloat, ncclSum, communicator, stream));
  }
  void wait() { check(cudaStreamSynchronize(stream)); }
  int device;
  ncclComm_t communicator;
  cudaStream_t stream{};
  float* data{};
};

// Two ranks of this process, a thread each.
template <class Work>
void two_ranks(Work work) {
  ncclComm_t communicators[2];
  check(ncclCommInitAll(communicators, 2, nullptr));
  auto run = [&](int number) {
    Rank rank(number, communicators[number]);
    work(rank);
    rank.wait();
    check(ncclCommDestroy(communicators[number]));
  };
  std::thread first(run, 0), second(run, 1);
  first.join();
  second.join();
}

Rank alone() {
  ncclUniqueId id;
  ncclComm_t communicator;
  check(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "alone";
  check(cudaSetDevice(0));
  check(ncclCommInitRankConfig(&communicator, 1, id, 0, &config));
  return Rank(0, communicator);
}

// The second rank comes to the second collective 80 ms late. Prints how long each took, by events.
void peers() {
  two_ranks([](Rank& rank) {
    static int late_ms = 80;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    rank.reduce();
    rank.wait();
    if (rank.device == 1) check(cudaLaunchHostFunc(rank.stream, sleep_ms, &late_ms));
    check(cudaEventRecord(begin, rank.stream));
    rank.reduce();
    check(cudaEventRecord(end, rank.stream));
    rank.wait();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    std::printf("device %d took %.6f ms\n", rank.device, static_cast<double>(ms));
  });
}

// A group of everything, and one call of sends and receives.
void groups() {
  two_ranks([](Rank& rank) {
    int other = 1 - rank.device;
    check(ncclGroupStart());
    rank.reduce(1000);
    check(ncclBroadcast(rank.data, rank.data, 500, ncclInt32, 1, rank.communicator, rank.stream));
    check(ncclSend(rank.data, 100, ncclFloat, other, rank.communicator, rank.stream));
    check(ncclRecv(rank.data + kCount, 100, ncclFloat, other, rank.communicator, rank.stream));
    check(ncclGroupEnd());
    rank.wait();
    check(ncclAlltoAll(rank.data, rank.data + kCount, 64, ncclFloat, rank.communicator, rank.stream));
  });
}

// The world, and a communicator split off it; a group over both.
void communicators() {
  two_ranks([](Rank& rank) {
    ncclComm_t child = nullptr;
    check(ncclCommSplit(rank.communicator, 7, rank.device, &child, nullptr));
    rank.reduce(10);
    check(ncclAllReduce(rank.data, rank.data, 20, ncclFloat, ncclMax, child, rank.stream));
    check(ncclGroupStart());
    rank.reduce(30);
    check(ncclAllReduce(rank.data, rank.data, 40, ncclFloat, ncclMax, child, rank.stream));
    check(ncclGroupEnd());
    rank.wait();
    check(ncclCommDestroy(child));
  });
}

void every_function() {
  Rank rank = alone();
  auto [device, its, stream, data] = rank;
  float* to = data + kCount;
  check(ncclAllReduce(data, to, 100, ncclFloat, ncclMax, its, stream));
  check(ncclAllGather(data, to, 100, ncclFloat, its, stream));
  check(ncclReduceScatter(data, to, 100, ncclFloat, ncclSum, its, stream));
  check(ncclBroadcast(data, to, 100, ncclFloat, 0, its, stream));
  check(ncclReduce(data, to, 100, ncclFloat, ncclSum, 0, its, stream));
  rank.wait();
  check(ncclGroupStart());
  check(ncclSend(data, 10, ncclFloat, 0, its, stream));
  check(ncclRecv(to, 10, ncclFloat, 0, its, stream));
  check(ncclGroupEnd());
  rank.wait();
  check(ncclCommDestroy(its));
}

void five() {
  Rank rank = alone();
  for (int i = 0; i < 5; ++i) rank.reduce(1000), rank.wait();
}

// The program names more than there is room for, before NCCL comes.
void many_names() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("program");
  for (int i = 0; i < 3000; ++i)
    nvtxDomainRegisterStringA(domain, (std::string(200, 'n') + std::to_string(i)).c_str());
  five();
}

void killed() {
  five();
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
}

void ended() {
  five();
  _exit(7);
}

void fork_before() { in_child(five); }
void fork_after() {
  five();
  in_child([] {});
}

// As libraries are told after a call, too: errno is the program's own.
void own_errno() {
  Rank rank = alone();
  bool kept = true;
  for (int i = 0; i < 200; ++i) {
    errno = 77;
    rank.reduce(10);
    kept = kept && errno == 77;
  }
  rank.wait();
  std::printf("errno %s\n", kept ? "kept" : "lost");
}

void no_nccl() {
  void* data = nullptr;
  check(cudaMalloc(&data, 1 << 12));
  check(cudaFree(data));
}

// After some collectives the host is always 20 ms ahead, and waits at the end of each step.
void ahead() {
  Rank rank = alone();
  for (int i = 0; i < 20; ++i) rank.reduce(10), rank.wait();
  static int backward_ms = 20;
  for (int step = 0; step < 600; ++step) {
    check(cudaLaunchHostFunc(rank.stream, sleep_ms, &backward_ms));
    rank.reduce(10);
    rank.wait();
  }
}

constexpr Story kStories[] = {{"peers", peers},
                              {"groups", groups},
                              {"communicators", communicators},
                              {"every_function", every_function},
                              {"five", five},
                              {"ahead", ahead},
                              {"many_names", many_names},
                              {"killed", killed},
                              {"ended", ended},
                              {"fork_before", fork_before},
                              {"fork_after", fork_after},
                              {"own_errno", own_errno},
                              {"no_nccl", no_nccl}};

}  // namespace

extern "C" __attribute__((visibility("default"))) int tell_story(const char* name) {
  return tell(kStories, name);
}
