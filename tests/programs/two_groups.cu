// Two communicators over all ranks: gradients are averaged on one, and statistics summed up on the other from
// a line of its own. In the last round some ranks take the two in the other order.
//
// usage: two_groups IDFILE ROUNDS FIRST_ODD LAST_ODD wait|enqueue      RANK and WORLD_SIZE in the environment
//   wait: the host waits after each; enqueue: after both
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <string>

#define CHECK(call, good)                                                    \
  do {                                                                       \
    if (auto result = (call); result != (good)) {                            \
      fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static ncclUniqueId common_id(const std::string& path, int rank) {
  ncclUniqueId id;
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&id), ncclSuccess);
    std::ofstream(path + ".new", std::ios::binary).write(id.internal, sizeof id.internal);
    CHECK(rename((path + ".new").c_str(), path.c_str()), 0);
    return id;
  }
  while (!std::ifstream(path, std::ios::binary).read(id.internal, sizeof id.internal)) usleep(20000);
  return id;
}

struct Trainer {
  ncclComm_t gradients, statistics;
  cudaStream_t stream;
  float* values;
  bool waits;

  void settle() const {
    if (waits) CHECK(cudaStreamSynchronize(stream), cudaSuccess);
  }
  void average() const {
    CHECK(ncclAllReduce(values, values, 4096, ncclFloat, ncclAvg, gradients, stream), ncclSuccess);
    settle();
  }
  void sum_up() const {
    CHECK(ncclAllReduce(values, values, 16, ncclFloat, ncclSum, statistics, stream), ncclSuccess);
    settle();
  }
};

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  int rank = atoi(getenv("RANK")), world = atoi(getenv("WORLD_SIZE")), rounds = atoi(argv[2]);
  bool odd = rank >= atoi(argv[3]) && rank <= atoi(argv[4]);
  Trainer trainer{};
  trainer.waits = strcmp(argv[5], "wait") == 0;
  ncclUniqueId id = common_id(argv[1], rank);
  CHECK(cudaSetDevice(rank), cudaSuccess);
  CHECK(ncclCommInitRank(&trainer.gradients, world, id, rank), ncclSuccess);
  CHECK(ncclCommSplit(trainer.gradients, 0, rank, &trainer.statistics, nullptr), ncclSuccess);
  CHECK(cudaStreamCreate(&trainer.stream), cudaSuccess);
  CHECK(cudaMalloc((void**)&trainer.values, 4096 * sizeof(float)), cudaSuccess);
  CHECK(cudaMemset(trainer.values, 0, 4096 * sizeof(float)), cudaSuccess);
  for (int round = 0; round < rounds; round++) {
    if (odd && round == rounds - 1) trainer.sum_up();
    trainer.average();
    if (!odd || round < rounds - 1) trainer.sum_up();
    CHECK(cudaStreamSynchronize(trainer.stream), cudaSuccess);
  }
  printf("rank %d is done\n", rank);
  return 0;
}
