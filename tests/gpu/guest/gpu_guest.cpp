// A program on CUDA, NCCL and CUPTI for the checks of tests/gpu: one story an argument. It tells what it did
// as lines of JSON; exit code 77: this CUDA runtime does not provide it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/gpu/guest/kernels.h"
#include "tests/gpu/guest/ranks.h"
#include "tests/inject/profiler_client.h"

namespace {

constexpr unsigned long long kBusyNs = 200'000;

// Of a copy within the device, bytes read and written.
double memory_gb_per_s() {
  const Stream stream;
  const Event begin(cudaEventDefault), end(cudaEventDefault);
  const Floats from(std::size_t{1} << 24, 1), to(from.count, 0);
  const std::size_t bytes = from.count * sizeof(float);
  float best = 0, ms = 0;
  for (int i = 0; i < 5; ++i) {
    check(cudaEventRecord(begin, stream), "an event's record");
    check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
    check(cudaEventRecord(end, stream), "an event's record");
    stream.wait();
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    best = std::max(best, 2e-6F * static_cast<float>(bytes) / ms);
  }
  return static_cast<double>(best);
}

void tell_machine(const Numbers&) {
  cudaDeviceProp device{};
  int count = 0, driver = 0, runtime = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf(
      "{\"device\": \"%s\", \"devices\": %d, \"driver_cuda\": %d, \"runtime\": %d, \"capability\": %d, "
      "\"memory_gb_per_s\": %.1f}\n",
      device.name, count, driver, runtime, 10 * device.major + device.minor, memory_gb_per_s());
}

// KERNELS: that many on one stream, and three copies and a fill. Their time by events of the program's own.
void work(const Numbers& kernels) {
  const Stream stream;
  const Event begin(cudaEventDefault), end(cudaEventDefault);
  const Floats one(1 << 20, 1), other(one.count, 0);
  std::vector<float> host(one.count);
  const std::size_t bytes = one.count * sizeof(float);
  check(cudaMemcpyAsync(other.data, one.data, bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
  check(cudaMemsetAsync(one.data, 0, bytes, stream), "a fill");
  launch_busy(1, stream);  // whatever is loaded at the first launch is
  stream.wait();
  check(cudaEventRecord(begin, stream), "an event's record");
  for (unsigned long i = 0; i < kernels[0]; ++i) launch_busy(kBusyNs, stream);
  check(cudaEventRecord(end, stream), "an event's record");
  launch_add(other.data, 1, static_cast<int>(other.count), stream);
  stream.wait();
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  require(one.all(0) && other.all(2), "what the device computed is wrong");
  std::printf("{\"busy_ns\": %llu, \"between_events_ms\": %.6f}\n", kBusyNs, static_cast<double>(ms));
}

struct Device {
  void work(int kernels) const {
    for (int i = 0; i < kernels; ++i) launch_busy(1000, stream);
    stream.wait();
  }
  Stream stream;
};

// Profiles before it uses CUDA, and unsubscribes; works on when that is for longer than a client has to be
// gone.
void profile_at_once(Profiler profiler) {
  std::printf("{\"subscribe\": %d}\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  const Device device;
  device.work(5);
  std::printf("{\"kernels\": %d}\n", profiler.end());
  profiler.unsubscribe();
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  device.work(6);
}

// The hidden one so that nobody but CUPTI knows.
void client_first(const Numbers&) { profile_at_once(Profiler()); }
void hidden_client(const Numbers&) { profile_at_once(Profiler(Lookup::kHidden)); }

// Profiles for a while, and later once more without registering its callbacks anew.
void client_later(const Numbers&) {
  const Device device;
  device.work(3);
  Profiler profiler;
  std::printf("{\"subscribe\": %d}\n", profiler.subscribe());
  profiler.register_callbacks();
  profiler.begin();
  device.work(4);
  std::printf("{\"kernels\": %d}\n", profiler.end());
  profiler.unsubscribe();
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  device.work(5);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  profiler.begin();
  device.work(6);
  std::printf("{\"kernels\": %d}\n", profiler.end());
}

struct Story {
  const char* name;
  void (*run)(const Numbers&);
};
constexpr Story kStories[] = {{"machine", tell_machine},
                              {"work", work},
                              {"client_first", client_first},
                              {"hidden_client", hidden_client},
                              {"client_later", client_later}};

struct RankStory {
  const char* name;
  void (*run)(const Rank&, const Numbers&);
  std::size_t numbers;
};
constexpr RankStory kRankStories[] = {{"reduce", reduce, 1}, {"replay", replay, 1}, {"train", train, 5}};

int usage() {
  std::fputs(
      "error: usage: gpu_guest machine | work KERNELS | client_first | hidden_client | client_later | reduce "
      "RANKS BYTES... "
      "| "
      "replay RANKS REPLAYS | train RANKS STEPS KERNELS NS BUCKETS FLOATS\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  Numbers numbers;
  for (int i = 2; i < argc; ++i) numbers.push_back(std::strtoul(argv[i], nullptr, 10));
  for (const Story& story : kStories) {
    if (std::strcmp(story.name, argv[1]) != 0 || (story.run == work && numbers.empty())) continue;
    story.run(numbers);
    return 0;
  }
  for (const RankStory& story : kRankStories) {
    if (std::strcmp(story.name, argv[1]) != 0 || numbers.size() < 1 + story.numbers) continue;
    return run_ranks(static_cast<int>(numbers[0]), {numbers.begin() + 1, numbers.end()}, story.run);
  }
  return usage();
}
