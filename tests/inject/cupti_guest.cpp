// A program that uses CUDA and NCCL, and CUPTI itself as a profiler would: one story an argument. Links no
// CUPTI: it is loaded when the program first profiles, as PyTorch's is.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "child.h"
#include "late_library.h"
#include "profiler_client.h"
#include "stories.h"

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

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void alone() { Device().work(5); }

void library_at_the_end() {
  static Device device;
  device.work(5);
  static LateLibrary late{device.data, kBytes};
}

// The program has CUPTI loaded when it forks, and the child is the first to use CUDA.
void child_alone() {
  Profiler loaded;
  in_child(alone);
}

// The program has called CUPTI, past our hooks, so that it refuses itself to the child.
void child_of_a_caller() {
  Profiler loaded;
  uint64_t now = 0;
  check(loaded.find(&cuptiGetTimestamp, "cuptiGetTimestamp")(&now), "time");
  in_child(alone);
}

// A client subscribes in a thread of its own while another one is the first to use CUDA.
void client_beside(int client_ms, int first_use_ms) {
  Profiler profiler;
  int result = -1;
  std::thread client([&] { sleep_ms(client_ms), result = profiler.subscribe(); });
  sleep_ms(first_use_ms);
  Device device;
  client.join();
  device.work(5);
  std::printf("subscribe %d\n", result);
}
void client_just_before() { client_beside(0, 100); }
void client_just_behind() { client_beside(100, 0); }

// What CUPTI says of the thread's own calls to it: there were none.
void last_error() {
  alone();
  Profiler loaded;
  std::printf("error %d\n", loaded.find(&cuptiGetLastError, "cuptiGetLastError")());
}

// For as many collectives.
void profile(Profiler& profiler, Device& device, int collectives) {
  profiler.register_callbacks();
  profiler.begin();
  device.work(collectives);
  std::printf("kernels %d\n", profiler.end());
}

// Profiles before it uses CUDA.
void client_first() {
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  Device().work(5);
  std::printf("kernels %d\n", profiler.end());
}

// For longer than a client has to be gone.
void work_without_client(Device& device) {
  sleep_ms(3500);
  device.work(6);
  sleep_ms(100);
}

// Profiles before it uses CUDA, has gone, and comes again.
void client_first_that_goes() {
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  Device device;
  device.work(5);
  std::printf("kernels %d\n", profiler.end());
  profiler.unsubscribe();
  work_without_client(device);
  profiler.begin();
  device.work(7);
  std::printf("kernels %d\n", profiler.end());
}

// Has gone before there is any CUDA; its callbacks are still CUPTI's.
void client_gone_before() {
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.unsubscribe();
  Device device;
  device.work(5);
  work_without_client(device);
}

void client_first_without_subscription() {
  Profiler profiler;
  profiler.register_callbacks();
  profiler.begin();
  Device device;
  device.work(5);
  std::printf("kernels %d\n", profiler.disable_and_flush());
  work_without_client(device);
}

// Disables and flushes, but may profile by callbacks still.
void client_first_that_stays_subscribed() {
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  Device device;
  device.work(5);
  std::printf("kernels %d\n", profiler.disable_and_flush());
  work_without_client(device);
}

// No hook sees it have CUPTI for a while, go and come again.
void profile_hidden(Profiler& hidden, Device& device) {
  hidden.register_callbacks();
  hidden.begin();
  device.work(5);
  sleep_ms(2500);
  std::printf("kernels %d\n", hidden.disable_and_flush());
  hidden.unsubscribe();
  work_without_client(device);
  std::printf("subscribe %d\n", hidden.subscribe());
  hidden.begin();
  device.work(7);
  std::printf("kernels %d\n", hidden.end());
}

void hidden_client_first() {
  Profiler hidden(Lookup::kHidden);
  std::printf("subscribe %d\n", hidden.subscribe());
  Device device;
  profile_hidden(hidden, device);
}

// Takes CUPTI when one that the hooks saw has gone.
void hidden_client_after_a_seen_one() {
  Profiler seen, hidden(Lookup::kHidden);
  std::printf("subscribe %d\n", seen.subscribe());
  Device device;
  seen.unsubscribe();
  std::printf("subscribe %d\n", hidden.subscribe());
  profile_hidden(hidden, device);
}

// Profiles for a while, and later once more without registering its callbacks anew.
void client_later() {
  Device device;
  device.work(3);
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profile(profiler, device, 4);
  profiler.unsubscribe();
  sleep_ms(3500);
  device.work(5);
  sleep_ms(100);
  profiler.begin();
  device.work(6);
  std::printf("kernels %d\n", profiler.end());
}

// Only records; and once more later, its callbacks registered once. What it flushes last it has got.
void client_without_subscription() {
  Device device;
  device.work(3);
  Profiler profiler;
  profiler.register_callbacks();
  profiler.begin();
  device.work(4);
  std::printf("kernels %d\n", profiler.disable_and_flush());
  sleep_ms(3500);
  device.work(5);
  profiler.begin_and_dump();
  device.work(6);
  std::printf("kernels %d\n", profiler.end());  // flushes before it disables: some may be left with CUPTI
  sleep_ms(3500);
  device.work(1);
}

// Has nothing recorded as far as can be seen: what it enables for one context is not.
void client_that_only_flushes() {
  Device device;
  device.work(3);
  Profiler profiler;
  profiler.register_callbacks();
  for (int i = 0; i < 35; ++i) sleep_ms(100), profiler.flush();
  device.work(1);
}

// Finds CUPTI's functions in the library's own handle; what it gets back must be its own buffers.
void client_by_handle() {
  Device device;
  device.work(3);
  Profiler profiler(Lookup::kByHandle);
  profile(profiler, device, 4);
}

// Profiles while other threads launch: each of them may ask for a buffer at any moment.
void profile_among_threads() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      cudaStream_t stream{};
      void* data{};
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      check(cudaMalloc(&data, kBytes), "malloc");
      while (!stop) {
        for (int fill = 0; fill < 50; ++fill) check(cudaMemsetAsync(data, 0, kBytes, stream), "fill");
        check(cudaStreamSynchronize(stream), "wait");
      }
    });
  sleep_ms(20);
  Profiler profiler;
  check(profiler.subscribe(), "subscribe");
  profiler.register_callbacks();
  profiler.begin(CUPTI_ACTIVITY_KIND_MEMSET);
  sleep_ms(1);
  profiler.end(CUPTI_ACTIVITY_KIND_MEMSET);
  profiler.unsubscribe();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// In processes of their own, as CUPTI is lent once in such a short time.
void client_among_threads() {
  int failed = 0;
  for (int i = 0; i < 16; ++i) {
    pid_t child = fork();
    if (child == 0) profile_among_threads(), _exit(0);
    int status = 0;
    check(waitpid(child, &status, 0) != child, "child");
    failed += status != 0;
  }
  std::printf("failed %d\n", failed);
}

// Unsubscribes, but what it has enabled goes on: CUPTI's activities do not depend on a subscriber.
void client_keeps_its_kinds() {
  Device device;
  device.work(3);
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  device.work(4);
  profiler.unsubscribe();
  sleep_ms(3500);
  device.work(5);
  std::printf("kernels %d\n", profiler.end());
}

uint64_t CUPTIAPI triple_time() {
  return 3 * static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Leaves a clock of its own behind, and disables what it has long disabled.
void client_with_a_clock() {
  Device device;
  device.work(3);
  Profiler profiler;
  profiler.register_clock(triple_time);
  std::printf("subscribe %d\n", profiler.subscribe());
  profile(profiler, device, 4);
  profiler.unsubscribe();
  for (int i = 0; i < 35; ++i) sleep_ms(100), device.work(1);
  std::printf("kernels %d\n", profiler.end());
  device.work(5);
}

// Has all recorded that CUPTI tells of calls and of the device, in a thread that is new to CUDA and ahead of
// the device.
void profile_calls() {
  Device device;
  device.work(3);
  sleep_ms(100);
  Profiler profiler;
  check(profiler.subscribe(), "subscribe");
  profiler.register_callbacks();
  constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
  for (CUpti_ActivityKind kind : kKinds) profiler.begin(kind);
  std::thread([&device] {
    check(cudaLaunchHostFunc(
              device.stream, [](void*) { sleep_ms(300); }, nullptr),
          "host function");
    device.work(40);
  }).join();
  sleep_ms(200);
  profiler.flush();
  std::printf("kernels %d\n", profiler.end());
  for (CUpti_ActivityKind kind : kKinds) profiler.end(kind);
  for (const auto& [name, times] : Profiler::calls) std::printf("%s %d\n", name.c_str(), times);
}

void client_of_calls() { profile_calls(); }
// The device is not that which is current in that thread.
void client_of_calls_elsewhere() {
  check(cudaSetDevice(1), "device");
  profile_calls();
}

// Has kernels of one context recorded; of that its setting is left behind, unless it ends CUPTI.
void profile_context(bool finalizes) {
  Device device;
  device.work(3);
  Profiler profiler;
  std::printf("subscribe %d\n", profiler.subscribe());
  profiler.call_back(true);
  device.work(0);
  profiler.call_back(false);
  profiler.register_callbacks();
  profiler.begin_context();
  device.work(5);
  std::printf("kernels %d\n", profiler.end_context());
  profiler.unsubscribe();
  if (finalizes) profiler.finalize();
  work_without_client(device);
}
void client_of_a_context() { profile_context(false); }
void client_of_a_context_that_ends() { profile_context(true); }

constexpr Story kStories[] = {{"alone", alone},
                              {"library_at_the_end", library_at_the_end},
                              {"last_error", last_error},
                              {"client_just_before", client_just_before},
                              {"client_just_behind", client_just_behind},
                              {"child_alone", child_alone},
                              {"child_of_a_caller", child_of_a_caller},
                              {"client_first", client_first},
                              {"client_first_that_goes", client_first_that_goes},
                              {"client_gone_before", client_gone_before},
                              {"client_first_without_subscription", client_first_without_subscription},
                              {"client_first_that_stays_subscribed", client_first_that_stays_subscribed},
                              {"hidden_client_first", hidden_client_first},
                              {"hidden_client_after_a_seen_one", hidden_client_after_a_seen_one},
                              {"client_later", client_later},
                              {"client_without_subscription", client_without_subscription},
                              {"client_that_only_flushes", client_that_only_flushes},
                              {"client_by_handle", client_by_handle},
                              {"client_among_threads", client_among_threads},
                              {"client_keeps_its_kinds", client_keeps_its_kinds},
                              {"client_with_a_clock", client_with_a_clock},
                              {"client_of_calls", client_of_calls},
                              {"client_of_calls_elsewhere", client_of_calls_elsewhere},
                              {"client_of_a_context", client_of_a_context},
                              {"client_of_a_context_that_ends", client_of_a_context_that_ends}};

}  // namespace

int main(int argc, char** argv) { return tell(kStories, argc < 2 ? nullptr : argv[1]); }
