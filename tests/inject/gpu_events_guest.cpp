// A program on CUDA and NCCL whose collectives are timed by events, or must not be: one story an argument.
#include <cuda_runtime.h>
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "stories.h"

// The clocks that the stand-in stamps its events with and the injector looks at; a story sets them back, or
// lets them run faster, from a time of its own.
static std::atomic<bool> set_back{false};
static std::atomic<long> rate{1}, real_from{0}, told_from{0};  // ns

static long clock_ns(clockid_t clock) {
  timespec time;
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) noexcept {
  long result = syscall(SYS_clock_gettime, clock, time);
  long ns = time->tv_sec * 1'000'000'000 + time->tv_nsec;
  if (clock == CLOCK_MONOTONIC && set_back) ns -= 40'000'000;
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME)
    if (real_from) ns = told_from + (clock_ns(CLOCK_MONOTONIC) - real_from) * rate;
  *time = {ns / 1'000'000'000, ns % 1'000'000'000};
  return static_cast<int>(result);
}

extern "C" void hold_other_threads_events();  // held_events.cpp

namespace {

constexpr std::size_t kCount = 1 << 10;

void check(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), _exit(3);
}
void check(ncclResult_t error) {
  if (error != ncclSuccess) std::fprintf(stderr, "%s\n", ncclGetErrorString(error)), _exit(4);
}

void sleep_ms(void* ms) { std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int*>(ms))); }

// One device of this process, with a stream and some memory.
struct Device {
  explicit Device(int number) {
    check(cudaSetDevice(number));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaMalloc(&data, kCount * sizeof(float)));
  }
  void reduce(ncclComm_t communicator) const {
    check(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, communicator, stream));
  }
  cudaStream_t stream{};
  void* data{};
};

ncclComm_t alone() {
  ncclUniqueId id;
  ncclComm_t communicator;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&communicator, 1, id, 0));
  return communicator;
}

// Two devices; the second comes to the collective 80 ms late. Prints how long each took, by events of its
// own.
void late_peer(int device, ncclComm_t communicator) {
  static int late_ms = 80;
  Device own(device);
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
  if (device == 1) check(cudaLaunchHostFunc(own.stream, sleep_ms, &late_ms));
  check(cudaEventRecord(begin, own.stream));
  own.reduce(communicator);
  check(cudaEventRecord(end, own.stream));
  check(cudaStreamSynchronize(own.stream));
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end));
  std::printf("device %d took %.6f ms\n", device, static_cast<double>(ms));
}

void peers() {
  ncclComm_t communicators[2];
  check(ncclCommInitAll(communicators, 2, nullptr));
  std::thread first(late_peer, 0, communicators[0]), second(late_peer, 1, communicators[1]);
  first.join();
  second.join();
}

// The clock that the device's times are of is set back and forth between them. Prints how many collectives
// there were.
void restless_clock() {
  Device own(0);
  ncclComm_t communicator = alone();
  std::atomic<int> left{2'000};
  std::thread clock([&] {
    for (; left > 0; --left) {
      set_back = !set_back;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  int collectives = 0;
  for (; left > 0; ++collectives) {
    own.reduce(communicator);
    check(cudaStreamSynchronize(own.stream));
  }
  clock.join();
  std::printf("collectives %d\n", collectives);
}

void run_clocks(long from_ns, long times) {
  told_from = from_ns, rate = times;
  real_from = clock_ns(CLOCK_MONOTONIC);
}

long age_ms(long from_ns) {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (time.tv_sec * 1'000'000'000 + time.tv_nsec - from_ns) / 1'000'000;
}

int reduce_until(const Device& own, ncclComm_t communicator, long from_ns, long until_ms) {
  int collectives = 0;
  for (; age_ms(from_ns) < until_ms; ++collectives) {
    own.reduce(communicator);
    check(cudaStreamSynchronize(own.stream));
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return collectives;
}

void wait_until(long from_ns, long until_ms) {
  while (age_ms(from_ns) < until_ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Many collectives for the first 27 s and from 33 s to 43 s, few after 79 s, of a clock that runs 20 times as
// fast; it began in the middle of a stretch of the wall clock that is sampled at all levels.
void dear() {
  constexpr long kFrom = 30'000'000'000L * 512 * 100'000 + 15'000'000'000L;
  run_clocks(kFrom, 20);
  Device own(0);
  ncclComm_t communicator = alone();
  int first = reduce_until(own, communicator, kFrom, 27'000);
  wait_until(kFrom, 33'000);
  int second = reduce_until(own, communicator, kFrom, 43'000);
  wait_until(kFrom, 79'000);
  for (int i = 0; i < 5; ++i) own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
  std::printf("collectives %d %d 5\n", first, second);
}

// From 3 s on no event of the poller's passes.
void old_anchor() {
  constexpr long kFrom = 30'000'000'000L * 512 * 100'000;
  run_clocks(kFrom, 20);
  Device own(0);
  ncclComm_t communicator = alone();
  int before = reduce_until(own, communicator, kFrom, 3'000);
  wait_until(kFrom, 5'000);
  hold_other_threads_events();
  wait_until(kFrom, 15'000);
  for (int i = 0; i < 20; ++i) own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
  std::printf("collectives %d 20\n", before);
}

// Three collectives that one ncclGroupEnd enqueues, behind 40 ms of other work.
void group() {
  Device own(0);
  ncclComm_t communicator = alone();
  int ms = 40;
  check(cudaLaunchHostFunc(own.stream, sleep_ms, &ms));
  check(ncclGroupStart());
  for (int i = 0; i < 3; ++i) own.reduce(communicator);
  check(ncclGroupEnd());
  check(cudaStreamSynchronize(own.stream));
}

// In a thread that never sets a device: device 0 is current in it. Prints what is current behind each.
void reduce_elsewhere(const Device& own, ncclComm_t communicator) {
  std::thread([&] {
    for (int i = 0; i < 5; ++i) {
      own.reduce(communicator);
      int device = -1;
      check(cudaGetDevice(&device));
      std::printf("current %d, last error %d\n", device, static_cast<int>(cudaGetLastError()));
    }
    check(cudaStreamSynchronize(own.stream));
  }).join();
}

void elsewhere() {
  Device own(1);
  reduce_elsewhere(own, alone());
}

// The communicator was split from another one in such a thread, too.
void split_elsewhere() {
  Device own(1);
  ncclComm_t communicator = alone(), part = nullptr;
  std::thread([&] {
    check(cudaFree(nullptr));
    check(ncclCommSplit(communicator, 0, 0, &part, nullptr));
  }).join();
  reduce_elsewhere(own, part);
}

// The default stream is that of the communicator's device, whichever is current.
void default_stream_elsewhere() {
  Device own(1);
  ncclComm_t communicator = alone();
  own.stream = nullptr;
  int ms = 40;
  std::thread([&] {
    own.reduce(communicator);
    check(cudaSetDevice(1));
    check(cudaLaunchHostFunc(nullptr, sleep_ms, &ms));
    check(cudaSetDevice(0));
    own.reduce(communicator);
  }).join();
  check(cudaDeviceSynchronize());
}

// Eight devices of one process: each ncclGroupEnd enqueues two collectives on each, from the thread of the
// last one.
void devices() {
  constexpr int kDevices = 8;
  ncclComm_t communicators[kDevices];
  check(ncclCommInitAll(communicators, kDevices, nullptr));
  std::vector<Device> all;
  for (int i = 0; i < kDevices; ++i) all.emplace_back(i);
  for (int group = 0; group < 3; ++group) {
    check(ncclGroupStart());
    for (int i = 0; i < 2 * kDevices; ++i) all[i % kDevices].reduce(communicators[i % kDevices]);
    check(ncclGroupEnd());
  }
  for (const Device& one : all) check(cudaStreamSynchronize(one.stream));
}

// An error that the program has not looked at yet stays its own.
void errors() {
  Device own(0);
  ncclComm_t communicator = alone();
  own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
  cudaMemcpy(nullptr, own.data, 4, static_cast<cudaMemcpyKind>(99));
  own.reduce(communicator);
  std::printf("last error %d\n", static_cast<int>(cudaGetLastError()));
  std::printf("then %d\n", static_cast<int>(cudaGetLastError()));
  check(cudaStreamSynchronize(own.stream));
}

// Far more than can be timed at once: the stream stands still meanwhile.
void crowd() {
  Device own(0);
  ncclComm_t communicator = alone();
  int ms = 300;
  check(cudaLaunchHostFunc(own.stream, sleep_ms, &ms));
  for (int i = 0; i < 2000; ++i) own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
}

// The device never comes to the first of one communicator's collectives, and has passed the other's.
void one_behind() {
  static int longer_than_the_process_ms = 5'000;
  Device held(0), free(0);
  ncclComm_t holds = alone(), passes = alone();
  check(cudaLaunchHostFunc(held.stream, sleep_ms, &longer_than_the_process_ms));
  for (int i = 0; i < 3; ++i) held.reduce(holds), free.reduce(passes);
  check(cudaStreamSynchronize(free.stream));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  _exit(0);
}

void quick_end() {
  Device own(0);
  ncclComm_t communicator = alone();
  for (int i = 0; i < 5; ++i) own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
  std::fflush(stdout);
  _exit(7);
}

void normal_end() {
  Device own(0);
  ncclComm_t communicator = alone();
  for (int i = 0; i < 5; ++i) own.reduce(communicator);
  check(cudaStreamSynchronize(own.stream));
}

// CUDA works in the child of a process that has not used it.
void fork_before() { in_child(normal_end); }

// And not in that of one that has: the child does something else, and ends as it likes.
void fork_after() {
  normal_end();
  in_child([] {});
}

int threads() {
  int count = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (std::fgets(line, sizeof(line), status))
    if (std::strncmp(line, "Threads:", 8) == 0) count = std::atoi(line + 8);
  std::fclose(status);
  return count;
}

// How many threads there are more than without timing is for the test to compare. One that was joined may be
// counted a moment longer.
void count_threads() {
  normal_end();
  int least = threads();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    least = std::min(least, threads());
  }
  std::printf("threads %d\n", least);
}

// Signals of the process are handled by the program's threads, also when all of them block it but one.
void signals() {
  static pthread_t self;
  static volatile sig_atomic_t elsewhere;
  self = pthread_self();
  normal_end();
  signal(SIGUSR1, [](int) { elsewhere = elsewhere || !pthread_equal(self, pthread_self()); });
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  for (int i = 0; i < 200; ++i) {
    pthread_sigmask(SIG_BLOCK, &set, &old);
    kill(getpid(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  std::printf("elsewhere %d\n", static_cast<int>(elsewhere));
}

constexpr Story kStories[] = {{"peers", peers},
                              {"group", group},
                              {"errors", errors},
                              {"crowd", crowd},
                              {"one_behind", one_behind},
                              {"quick_end", quick_end},
                              {"normal_end", normal_end},
                              {"fork_before", fork_before},
                              {"fork_after", fork_after},
                              {"threads", count_threads},
                              {"signals", signals},
                              {"restless_clock", restless_clock},
                              {"dear", dear},
                              {"old_anchor", old_anchor},
                              {"elsewhere", elsewhere},
                              {"split_elsewhere", split_elsewhere},
                              {"default_stream_elsewhere", default_stream_elsewhere},
                              {"devices", devices}};

}  // namespace

int main(int argc, char** argv) { return tell(kStories, argc < 2 ? nullptr : argv[1]); }
