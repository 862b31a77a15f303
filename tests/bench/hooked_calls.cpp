// hooked_calls CALL CALLS [FRAMES]: times one kind of call under a stack of so many frames; see
// timed_calls.h.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/bench/timed_calls.h"

namespace {

constexpr std::uint64_t kBuckets = 25;  // of a model: after the first step every call recurs

constexpr struct {
  const char* call;
  void (*time)(std::uint64_t calls);
} kKinds[] = {
    {"differing", [](std::uint64_t calls) { time_collectives(calls, calls); }},
    {"regular", [](std::uint64_t calls) { time_collectives(calls, kBuckets); }},
    {"copy-4K", [](std::uint64_t calls) { time_copies(calls, 4 << 10); }},
    {"copy-32K", [](std::uint64_t calls) { time_copies(calls, 32 << 10); }},
    {"copy-1M", [](std::uint64_t calls) { time_copies(calls, 1 << 20); }},
    {"value", time_values},
    {"timed", time_timed_collectives},
    {"launch", time_launches},
    {"kernels", time_kernel_records},
    {"group", time_group_calls},
    {"gradient", time_gradients},
    {"read", time_reads},
    {"write", time_writes},
    {"send", time_sends},
    {"event", time_events},
    {"semop", time_semaphores},
    {"look", time_looks},
    {"found", time_found_names},
    {"end", time_end_seeks},
    {"entry", time_entries},
    {"lock", time_locks},
    {"shared-lock", time_shared_locks},
    {"crowded-lock", time_crowded_locks},
    {"signal", time_signals},
    {"post", time_posts},
    {"wake", time_wakes},
};

bool time_calls(const char* call, std::uint64_t calls) {
  for (const auto& kind : kKinds)
    if (std::strcmp(call, kind.call) == 0) return kind.time(calls), true;
  return false;
}

[[gnu::noinline]] bool under_frames(int frames, const char* call, std::uint64_t calls) {
  bool known = frames > 0 ? under_frames(frames - 1, call, calls) : time_calls(call, calls);
  asm volatile("");  // not a tail call: the frame stays
  return known;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t calls = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (calls && under_frames(argc > 3 ? std::atoi(argv[3]) : 0, argv[1], calls)) return 0;
  std::fputs("error: usage: hooked_calls CALL CALLS [FRAMES], CALL one of", stderr);
  for (const auto& kind : kKinds) std::fprintf(stderr, " %s", kind.call);
  std::fputs("\n", stderr);
  return 2;
}
