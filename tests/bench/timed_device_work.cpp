// Launches and collectives whose device times are recorded, and the reading of what CUPTI tells.
#include <time.h>

#include "tests/bench/instant_cuda.h"
#include "tests/bench/instant_cupti.h"
#include "tests/bench/measure_calls.h"
#include "tests/bench/timed_calls.h"

using namespace ddpscope::bench;

namespace {

// No more than the events that can be under way, and few enough a second that none are left out.
constexpr std::size_t kEventsAtOnce = 100;

void let_events_be_read() {
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

void time_timed_collectives(std::uint64_t calls) {
  ncclComm_t communicator = make_communicator();
  char buffer[4];
  const auto reduce = [&](auto* function, std::size_t i) {
    function(buffer, buffer, i, ncclFloat, ncclSum, communicator, nullptr);
    if (i % kEventsAtOnce == kEventsAtOnce - 1) let_events_be_read();
  };
  measure(
      calls, [&](std::size_t i) { reduce(&ncclAllReduce, i); },
      [&](std::size_t i) { reduce(&bare_all_reduce, i); });
}

void time_launches(std::uint64_t calls) {
  constexpr std::size_t kKernels = 25;  // in turn: none is like the one before it
  make_communicator();
  static char kernels[kKernels];
  const auto launch = [&](decltype(bare_launch)* function, std::size_t i) {
    function(&kernels[i % kKernels], dim3(1), dim3(1), nullptr, 0, nullptr);
  };
  measure(
      calls, [&](std::size_t i) { launch(&cudaLaunchKernel, i); },
      [&](std::size_t i) { launch(&bare_launch, i); });
}

void time_kernel_records(std::uint64_t calls) {
  constexpr unsigned kAtOnce = 100;
  make_communicator();
  cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr);  // CUPTI is asked for at the first call
  measure(
      calls, [](std::size_t) { deliver_kernels(kAtOnce); },
      [](std::size_t) { bare_deliver_kernels(kAtOnce); });
}
