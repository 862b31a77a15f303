// Two communicators over all ranks: gradients are averaged on one, and statistics summed up on the other from
// a line of its own. In the last round some ranks take the two in the other order.
//
// usage: two_groups IDFILE ROUNDS FIRST_ODD LAST_ODD wait|enqueue      RANK and WORLD_SIZE in the environment
//   wait: the host waits after each; enqueue: after both
#include "ranks.h"

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
  Ranks ranks(argv[1]);
  int rounds = atoi(argv[2]);
  bool odd = ranks.rank >= atoi(argv[3]) && ranks.rank <= atoi(argv[4]);
  Trainer trainer{};
  trainer.waits = strcmp(argv[5], "wait") == 0;
  trainer.gradients = ranks.all;
  CHECK(ncclCommSplit(trainer.gradients, 0, ranks.rank, &trainer.statistics, nullptr), ncclSuccess);
  CHECK(cudaStreamCreate(&trainer.stream), cudaSuccess);
  CHECK(cudaMalloc((void**)&trainer.values, 4096 * sizeof(float)), cudaSuccess);
  CHECK(cudaMemset(trainer.values, 0, 4096 * sizeof(float)), cudaSuccess);
  for (int round = 0; round < rounds; round++) {
    if (odd && round == rounds - 1) trainer.sum_up();
    trainer.average();
    if (!odd || round < rounds - 1) trainer.sum_up();
    CHECK(cudaStreamSynchronize(trainer.stream), cudaSuccess);
  }
  printf("rank %d is done\n", ranks.rank);
  return 0;
}
