// Each rank has a neighbour on either side, round in a circle, and talks with each of them once a round. In
// the round BAD the ranks all begin with the neighbour on their right, and none is there.
//
// usage: circles IDFILE KIND ROUNDS BAD [LATE]      RANK and WORLD_SIZE, which is even, in the environment
//   pairs:     a communicator for each two neighbours; the host waits after each all-reduce
//   queued:    likewise, but all in one stream, and the host waits when both are enqueued
//   messages:  sends and receives; the host waits after each
//   enqueued:  likewise, but the host waits when all are enqueued
//   groups:    likewise, the send and the receive of a rank in one group: in any order they go on
//   threads:   two communicators over all ranks, each used by a thread of its own; a thread waits for the
//   other one's
//              end before it begins, and in the round BAD odd ranks let the second one begin
//   apart:     likewise, but neither thread waits for the other
//   streams:   the same two by one thread on streams of their own; the host waits when both are enqueued
//   LATE: seconds that rank 0 computes before the last round
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "ranks.h"

static const size_t kCount = 1 << 16;

struct Channel {
  ncclComm_t communicator;
  cudaStream_t stream;
  float *out, *in;

  explicit Channel(ncclComm_t its_communicator) : communicator(its_communicator) {
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc((void**)&out, kCount * sizeof(float)));
    CUDA(cudaMalloc((void**)&in, kCount * sizeof(float)));
    CUDA(cudaMemset(out, 0, kCount * sizeof(float)));
  }
  void wait() const { CUDA(cudaStreamSynchronize(stream)); }
};

struct Circle {
  Ranks& ranks;
  std::string kind;
  int right, left;
  Channel ring, even, odd;  // even: with the neighbour on the right for even ranks, on the left for odd ones

  Circle(Ranks& its_ranks, const char* its_kind)
      : ranks(its_ranks),
        kind(its_kind),
        right((ranks.rank + 1) % ranks.world),
        left((ranks.rank + ranks.world - 1) % ranks.world),
        ring(ranks.all),
        even(part(ranks.rank / 2)),
        odd(part(right / 2)) {}

  bool of_all() const { return kind == "threads" || kind == "apart" || kind == "streams"; }
  ncclComm_t part(int color) const {
    ncclComm_t made;
    NCCL(ncclCommSplit(ranks.all, of_all() ? 0 : color, ranks.rank, &made, nullptr));
    return made;
  }

  void compute(int seconds) const {
    for (int part = 0; part < 20 * seconds; part++) {
      CUDA(cudaMemsetAsync(ring.out, 0, kCount * sizeof(float), ring.stream));
      ring.wait();
      usleep(50000);
    }
  }

  void talk(bool bad) {
    bool right_first = ranks.rank % 2 == 0 || bad;
    if (kind == "pairs") return talk_in_pairs(right_first);
    if (kind == "queued") return queue_for_pairs(right_first);
    if (kind == "threads" || kind == "apart") return talk_in_threads(bad && ranks.rank % 2);
    if (kind == "streams") return talk_in_streams(bad && ranks.rank % 2);
    exchange(right_first);
  }

  void talk_in_pairs(bool right_first) const {
    const Channel& with_right = ranks.rank % 2 ? odd : even;
    const Channel& with_left = ranks.rank % 2 ? even : odd;
    if (right_first) halo(with_right);
    halo(with_left);
    if (!right_first) halo(with_right);
  }
  void halo(const Channel& channel) const {
    NCCL(ncclAllReduce(channel.out, channel.in, kCount, ncclFloat, ncclSum, channel.communicator,
                       channel.stream));
    channel.wait();
  }

  void queue_for_pairs(bool right_first) const {
    bool even_first = right_first == (ranks.rank % 2 == 0);
    for (const Channel* channel : {even_first ? &even : &odd, even_first ? &odd : &even})
      NCCL(ncclAllReduce(channel->out, channel->in, kCount, ncclFloat, ncclSum, channel->communicator,
                         ring.stream));
    ring.wait();  // for both
  }

  void exchange(bool send_first) const {
    if (kind == "groups") NCCL(ncclGroupStart());
    if (send_first) send();
    receive();
    if (!send_first) send();
    if (kind == "groups") NCCL(ncclGroupEnd());
    ring.wait();
  }
  void send() const {
    NCCL(ncclSend(ring.out, kCount, ncclFloat, right, ring.communicator, ring.stream));
    if (kind == "messages") ring.wait();
  }
  void receive() const {
    NCCL(ncclRecv(ring.in, kCount, ncclFloat, left, ring.communicator, ring.stream));
    if (kind == "messages") ring.wait();
  }

  void average_gradients() const {
    NCCL(ncclAllReduce(even.out, even.in, kCount, ncclFloat, ncclAvg, even.communicator, even.stream));
  }
  void sum_statistics() const {
    NCCL(ncclAllReduce(odd.out, odd.in, 16, ncclFloat, ncclSum, odd.communicator, odd.stream));
  }

  void talk_in_streams(bool statistics_first) const {
    if (statistics_first) sum_statistics();
    average_gradients();
    if (!statistics_first) sum_statistics();
    even.wait();
    odd.wait();
  }

  // The threads live as long as the program; a round is a number that each of them follows.
  std::mutex mutex;
  std::condition_variable changed;
  int round = 0, done[2] = {0, 0};
  bool statistics_first = false;

  void follow(int index, int rounds) {
    CUDA(cudaSetDevice(ranks.rank));
    for (int k = 1; k <= rounds; k++) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] {
        bool first = index == (statistics_first ? 1 : 0);
        return round >= k && (kind == "apart" || first || done[1 - index] >= k);
      });
      lock.unlock();
      index == 0 ? average_gradients() : sum_statistics();
      (index == 0 ? even : odd).wait();
      lock.lock();
      done[index] = k;
      changed.notify_all();
    }
  }
  void talk_in_threads(bool other_first) {
    std::unique_lock<std::mutex> lock(mutex);
    statistics_first = other_first;
    int k = ++round;
    changed.notify_all();
    changed.wait(lock, [&] { return done[0] >= k && done[1] >= k; });
  }
};

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Ranks ranks(argv[1]);
  Circle circle(ranks, argv[2]);
  int rounds = atoi(argv[3]), bad = atoi(argv[4]), late = argc > 5 ? atoi(argv[5]) : 0;
  std::thread threads[2];
  bool threaded = circle.kind == "threads" || circle.kind == "apart";
  for (int index = 0; threaded && index < 2; index++)
    threads[index] = std::thread(&Circle::follow, &circle, index, rounds);
  for (int round = 0; round < rounds; round++) {
    if (ranks.rank == 0 && round == rounds - 1) circle.compute(late);
    circle.talk(round == bad);
  }
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
  printf("rank %d is done\n", ranks.rank);
  return 0;
}
