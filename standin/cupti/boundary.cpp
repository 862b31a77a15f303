// Forked children, last errors, and what is said of what is missing.
#include "standin/cupti/boundary.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace ddpscope::standin::cupti {
namespace {

std::atomic<bool> used{false};
std::atomic<bool> forked{false};
thread_local CUptiResult last_error = CUPTI_SUCCESS;

[[gnu::constructor]] void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] {
    if (used.load(std::memory_order_relaxed)) forked.store(true, std::memory_order_relaxed);
  });
}

}  // namespace

bool in_forked_child() { return forked.load(std::memory_order_relaxed); }

bool admit() {
  if (in_forked_child()) return false;
  if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
  return true;
}

CUptiResult record_result(CUptiResult result) {
  if (result != CUPTI_SUCCESS) last_error = result;
  return result;
}

CUptiResult take_last_error() {
  const CUptiResult error = last_error;
  last_error = CUPTI_SUCCESS;
  return error;
}

CUptiResult refuse(const char* what) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (said->insert(what).second)
    std::fprintf(stderr, "standin libcupti: %s is not provided: CUPTI_ERROR_NOT_SUPPORTED\n", what);
  return record_result(CUPTI_ERROR_NOT_SUPPORTED);
}

int refuse_function(const char* name);  // for stubs, which know no header of NVIDIA's
int refuse_function(const char* name) { return refuse(name); }

}  // namespace ddpscope::standin::cupti
