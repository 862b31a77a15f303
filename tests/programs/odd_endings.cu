// Trains for some rounds, all ranks in step, and then ends in a way of its own: all of them are healthy.
//
// usage: odd_endings IDFILE ROUNDS WAY      RANK and WORLD_SIZE in the environment
//   all-at-once:     each rank leaves by _exit(0), without destroying anything
//   one-at-once:     rank 1 does, the others end in order two seconds later
//   rank-0-leaves:   after a last barrier rank 0 ends; the others go on in a communicator of their own
//   rank-0-lingers:  after a last barrier all others end; rank 0 works alone for three seconds
//   exec:            each rank becomes another program
//   daemon:          rank 0 leaves a process behind that holds all that rank 0 had, and writes now and then
//   time-limit:      a thread of each rank ends it with code 3 when its time is up, in the middle of a round
//   save:            rank 0 writes one large file for six seconds, the others wait for it in the next round
//   save-in-step:    as save, but between the gradients, in a communicator of their own, and a barrier for
//   both of
//                    which the others wait
//   think:           rank 0 computes for six seconds, without a call; the others wait for it
//   think-in-child:  a child of rank 0 does, for which rank 0 waits
//   save-in-thread:  as save, by a thread for which rank 0's first one waits
//   slow-ranks:      the ranks need from 0 to 0.7 s for a round, the fastest of one most for the next: no
//   straggler heartbeat:       a thread of each rank asks its communicator how it is, longer than its rank
//   trains
// Those from save to heartbeat go on until somebody ends them if ROUNDS is 0.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ranks.h"

struct Job {
  Ranks ranks;
  std::string way;
  cudaStream_t stream;
  float* values;
  ncclComm_t gradients = nullptr;
  std::atomic<bool> ended{false};

  Job(const char* id_file, const char* its_way) : ranks(id_file), way(its_way) {
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc((void**)&values, 4096 * sizeof(float)));
    CUDA(cudaMemset(values, 0, 4096 * sizeof(float)));
    if (way == "save-in-step") NCCL(ncclCommSplit(ranks.all, 0, ranks.rank, &gradients, nullptr));
  }
  void reduce(ncclComm_t communicator, size_t count) const {
    NCCL(ncclAllReduce(values, values, count, ncclFloat, ncclSum, communicator, stream));
    CUDA(cudaStreamSynchronize(stream));
  }
  void compute(double seconds) const { usleep((useconds_t)(seconds * 1e6)); }
  void write_for(double seconds, const char* name) const {
    static char block[1 << 16];
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (double t = 0; t < seconds; t += 0.1) {
      CHECK(write(file, block, sizeof block) == sizeof block, true);
      compute(0.1);
    }
    close(file);
  }
  static void think(double seconds) {
    auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  void be_busy() const {
    if (way == "save" || way == "save-in-step") write_for(6, "weights.bin");
    if (way == "think") think(6);
    if (way == "save-in-thread") std::thread([&] { write_for(6, "weights.bin"); }).join();
    if (way == "think-in-child") {
      pid_t child = fork();
      if (child == 0) {
        think(6);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  }
  void train(int rounds) const {
    for (int round = 0; rounds == 0 || round < rounds; round++) {
      int slowness = round % 2 ? ranks.rank : ranks.world - 1 - ranks.rank;
      compute(way == "slow-ranks" ? 0.1 * (slowness % 8) : 0.01);
      if (gradients) NCCL(ncclAllReduce(values, values, 4096, ncclFloat, ncclSum, gradients, stream));
      if (ranks.rank == 0 && round == 21) be_busy();
      if (round == 20 && ranks.rank == 0) std::ofstream("begun") << "\n";
      reduce(ranks.all, 4096);
    }
  }
  void end();
};

void Job::end() {
  if (way == "all-at-once" || (way == "one-at-once" && ranks.rank == 1)) _exit(0);
  if (way == "one-at-once") compute(2);
  if (way == "rank-0-leaves") {
    ncclComm_t others;
    NCCL(ncclCommSplit(ranks.all, ranks.rank ? 0 : NCCL_SPLIT_NOCOLOR, ranks.rank, &others, nullptr));
    reduce(ranks.all, 1);
    if (ranks.rank == 0) exit(0);
    for (int round = 0; round < 150; round++) {
      compute(0.02);
      reduce(others, 64);
    }
  }
  if (way == "rank-0-lingers") {
    reduce(ranks.all, 1);
    if (ranks.rank == 0) write_for(3, "summary.bin");
  }
  if (way == "exec") execl("/bin/true", "true", (char*)nullptr);
  if (way == "daemon" && ranks.rank == 0 && fork() == 0) {
    setsid();
    write_for(3, "daemon.log");
    _exit(0);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  signal(SIGINT, SIG_DFL);  // ignored by what a shell starts in the background
  Job job(argv[1], argv[3]);
  std::thread second;
  if (job.way == "time-limit") {
    second = std::thread([] {
      sleep(3);
      _exit(3);
    });
  }
  if (job.way == "heartbeat")
    second = std::thread([&] {
      for (int beats = 0; !job.ended; beats++) {
        ncclResult_t state;
        NCCL(ncclCommGetAsyncError(job.ranks.all, &state));
        job.compute(0.1);
      }
    });
  job.train(job.way == "time-limit" ? 0 : atoi(argv[2]));
  job.end();
  if (job.way == "heartbeat") job.compute(2.5);
  job.ended = true;
  if (second.joinable()) second.join();
  printf("rank %d is done\n", job.ranks.rank);
  return 0;
}
