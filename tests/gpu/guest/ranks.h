// Ranks of one job, each a process, all on the first device that they see.
#pragma once
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString(error));
  _exit(error == cudaErrorNotSupported ? 77 : 3);
}

inline void check(ncclResult_t error, const char* what) {
  if (error == ncclSuccess) return;
  std::fprintf(stderr, "error: %s: %s, %s\n", what, ncclGetErrorString(error), ncclGetLastError(nullptr));
  _exit(4);
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "error: %s\n", what);
  _exit(5);
}

struct Stream {
  Stream() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"); }
  operator cudaStream_t() const { return stream; }
  void wait() const { check(cudaStreamSynchronize(stream), "the wait for a stream"); }
  cudaStream_t stream{};
};

struct Event {
  explicit Event(unsigned flags = cudaEventDisableTiming) {
    check(cudaEventCreateWithFlags(&event, flags), "an event");
  }
  operator cudaEvent_t() const { return event; }
  // What `later` gets from now on runs after what `first` has got so far.
  void order(cudaStream_t first, cudaStream_t later) const {
    check(cudaEventRecord(event, first), "an event's record");
    check(cudaStreamWaitEvent(later, event, 0), "the wait for an event");
  }
  cudaEvent_t event{};
};

// Floats on the device, all of one value.
struct Floats {
  Floats(std::size_t size, float value) : count(size) {
    check(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(float)), "memory");
    fill(value);
  }
  void fill(float value) const {
    std::vector<float> host(count, value);
    check(cudaMemcpy(data, host.data(), count * sizeof(float), cudaMemcpyHostToDevice), "a copy");
  }
  bool all(float value) const {
    std::vector<float> host(count);
    check(cudaMemcpy(host.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost), "a copy");
    for (float one : host)
      if (one != value) return false;
    return true;
  }
  float* data{};
  std::size_t count;
};

struct Rank {
  int rank, size;
  ncclComm_t communicator;
};

// The rest of the command line, as numbers.
using Numbers = std::vector<unsigned long>;

// Starts them and waits for them; the worst exit code. NCCL takes each for a host of its own, which lets them
// share a device.
int run_ranks(int count, const Numbers& numbers, void (*story)(const Rank&, const Numbers&));

// BYTES...: all-reduces of these sizes.
void reduce(const Rank& rank, const Numbers& bytes);
// REPLAYS: a step with a collective is captured and replayed.
void replay(const Rank& rank, const Numbers& replays);
// STEPS KERNELS NS BUCKETS FLOATS: training steps of so many kernels and all-reduces.
void train(const Rank& rank, const Numbers& shape);
