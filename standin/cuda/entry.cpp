// Admission to the runtime (first use, fork, host functions) and the thread's last error.
#include "standin/cuda/entry.h"

#include <pthread.h>

#include <atomic>

#include "standin/cuda/device.h"
#include "standin/cuda/observer.h"

namespace ddpscope::standin {
namespace {

std::atomic<bool> used{false};
std::atomic<bool> forked{false};
std::atomic<cudaError_t> process_error{cudaSuccess};
thread_local cudaError_t thread_error = cudaSuccess;
thread_local bool inside_host_function = false;

// Other threads of the parent may hold any of our locks at the fork, so a child never takes one.
void after_fork_in_child() {
  detail::attached.store(nullptr, std::memory_order_relaxed);
  if (used.load(std::memory_order_relaxed)) forked.store(true, std::memory_order_relaxed);
}

[[gnu::constructor]] void watch_forks() { pthread_atfork(nullptr, nullptr, after_fork_in_child); }

}  // namespace

cudaError_t admit() {
  if (forked.load(std::memory_order_relaxed)) return cudaErrorInitializationError;
  if (inside_host_function) return cudaErrorNotPermitted;
  if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
  if (const cudaError_t error = process_failure(); error != cudaSuccess) return error;
  return visible_devices().empty() ? cudaErrorNoDevice : cudaSuccess;
}

void fail_process(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  process_error.compare_exchange_strong(none, error);
}

cudaError_t process_failure() { return process_error.load(std::memory_order_relaxed); }

cudaError_t record_error(cudaError_t error) {
  if (error != cudaSuccess) thread_error = error;
  return error;
}

cudaError_t last_error(bool clear) {
  const cudaError_t error = thread_error;
  if (clear) thread_error = cudaSuccess;
  return error;
}

bool forked_from_user() { return forked.load(std::memory_order_relaxed); }

bool process_used_runtime() { return used.load(std::memory_order_relaxed); }

HostFunctionScope::HostFunctionScope() { inside_host_function = true; }
HostFunctionScope::~HostFunctionScope() { inside_host_function = false; }

}  // namespace ddpscope::standin
