// Stands before the CUDA runtime: as if the streams of all but the main thread stood behind endless work,
// once a program says so.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#define EXPORTED extern "C" [[gnu::visibility("default")]]

namespace {
std::atomic<bool> holds{false};
}

EXPORTED void hold_other_threads_events() { holds = true; }

namespace {

std::array<std::atomic<cudaEvent_t>, 16> of_other_threads;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

bool is_of_other_thread(cudaEvent_t event) {
  return std::any_of(of_other_threads.begin(), of_other_threads.end(),
                     [&](const auto& known) { return known == event; });
}

}  // namespace

EXPORTED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!is_main_thread() && !is_of_other_thread(event))
    for (auto& known : of_other_threads) {
      cudaEvent_t none = nullptr;
      if (known.compare_exchange_strong(none, event)) break;
    }
  static auto* record = next<cudaError_t(cudaEvent_t, cudaStream_t)>("cudaEventRecord");
  return record(event, stream);
}

EXPORTED cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (holds && is_of_other_thread(event)) return cudaErrorNotReady;
  static auto* query = next<cudaError_t(cudaEvent_t)>("cudaEventQuery");
  return query(event);
}
