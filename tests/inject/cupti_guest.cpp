// A program that uses CUDA and NCCL, and CUPTI itself as a profiler would: one story an argument. Links no
// CUPTI: it is loaded when the program first profiles, as PyTorch's is.
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr std::size_t kBytes = 1 << 12;

void check(int error, const char* what) {
  if (error != 0) std::fprintf(stderr, "%s: error %d\n", what, error), _exit(3);
}

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

// CUPTI as a client that registers its callbacks once and enables kinds for each time of profiling.
struct Profiler {
  Profiler() {
    library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (!library) std::fprintf(stderr, "%s\n", dlerror()), _exit(4);
  }
  template <class Function>
  Function* find(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));  // as a linked program would
  }
#define CUPTI(function) find(&function, #function)
  static void CUPTIAPI callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
  static void CUPTIAPI request(uint8_t** buffer, size_t* bytes, size_t* most) {
    *bytes = 1 << 16, *most = 0;
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *bytes));
  }
  static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
    auto* next = reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(
        dlsym(RTLD_DEFAULT, "cuptiActivityGetNextRecord"));
    CUpti_Activity* record = nullptr;
    while (next(buffer, used, &record) == CUPTI_SUCCESS)
      kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    std::free(buffer);
  }
  int subscribe() { return CUPTI(cuptiSubscribe)(&handle, callback, nullptr); }
  void register_callbacks() { check(CUPTI(cuptiActivityRegisterCallbacks)(request, complete), "callbacks"); }
  void begin() { check(CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "enable"); }
  int end() {
    check(CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush");
    check(CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "disable");
    return kernels.exchange(0);
  }
  void unsubscribe() { check(CUPTI(cuptiUnsubscribe)(handle), "unsubscribe"); }
#undef CUPTI

  void* library;
  CUpti_SubscriberHandle handle{};
  static std::atomic<int> kernels;
};
std::atomic<int> Profiler::kernels;

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

struct Story {
  const char* name;
  void (*run)();
};
constexpr Story kStories[] = {
    {"alone", alone}, {"client_first", client_first}, {"client_later", client_later}};

}  // namespace

int main(int argc, char** argv) {
  for (const Story& story : kStories) {
    if (argc < 2 || std::strcmp(story.name, argv[1]) != 0) continue;
    story.run();
    return 0;
  }
  return 2;
}
