// Finding the runtime: never by linking, so that loading this library loads nothing else.
#include "standin/cupti/runtime.h"

#include <atomic>
#include <cstdio>

#include "standin/cuda/find_runtime.h"
#include "standin/cupti/boundary.h"

namespace ddpscope::standin::cupti {
namespace {

void say_no_runtime() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::fprintf(stderr, "standin libcupti: this process does not use the stand-in %s: nothing is recorded\n",
               kRuntimeLibrary);
}

}  // namespace

const Runtime& runtime() {
  static std::atomic<const Runtime*> found{nullptr};
  const Runtime* known = found.load(std::memory_order_acquire);
  if (known) return *known;
  known = find_runtime();
  if (!known) {
    say_no_runtime();
    throw Failure{CUPTI_ERROR_NOT_INITIALIZED};
  }
  found.store(known, std::memory_order_release);
  return *known;
}

}  // namespace ddpscope::standin::cupti
