// A program that uses CUDA and NCCL, and CUPTI itself as a profiler would: one story an argument. Links no
// CUPTI: it is loaded when the program first profiles, as PyTorch's is.
#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "profiler_client.h"

namespace {

constexpr std::size_t kBytes = 1 << 12;

struct Device {
  Device() {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&data, kBytes), "malloc");
    ncclUniqueId id;
    check(ncclGetUniqueId(&id), "id");
    check(ncclCommInitRank(&communicator, 1, id, 0), "init");
  }
  void work(int collectives) {
    char host[kBytes] = {};
    check(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, stream), "copy");
    check(cudaMemsetAsync(data, 0, kBytes, stream), "fill");
    for (int i = 0; i < collectives; ++i)
      check(ncclAllReduce(data, data, kBytes / 4, ncclFloat, ncclSum, communicator, stream), "reduce");
    check(cudaStreamSynchronize(stream), "wait");
  }
  cudaStream_t stream{};
  void* data{};
  ncclComm_t communicator{};
};

void alone() { Device().work(5); }

// Profiles before it uses CUDA.
void client_first() {
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  Device().work(5);
  std::printf("kernels %d\n", profiler.end());
}

// Profiles for a while, and later once more without registering its callbacks anew.
void client_later() {
  Device device;
  device.work(3);
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  device.work(4);
  std::printf("kernels %d\n", profiler.end());
  profiler.unsubscribe();
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  device.work(5);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  profiler.begin();
  device.work(6);
  std::printf("kernels %d\n", profiler.end());
}

// Finds CUPTI's functions in the library's own handle; what it gets back must be its own buffers.
void client_by_handle() {
  Device device;
  device.work(3);
  Profiler profiler(Lookup::kByHandle);
  profiler.register_callbacks();
  profiler.begin();
  device.work(4);
  std::printf("kernels %d\n", profiler.end());
}

struct Story {
  const char* name;
  void (*run)();
};
constexpr Story kStories[] = {{"alone", alone},
                              {"client_first", client_first},
                              {"client_later", client_later},
                              {"client_by_handle", client_by_handle}};

}  // namespace

int main(int argc, char** argv) {
  for (const Story& story : kStories) {
    if (argc < 2 || std::strcmp(story.name, argv[1]) != 0) continue;
    story.run();
    return 0;
  }
  return 2;
}
