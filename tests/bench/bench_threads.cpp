// Threads that record at the same time: what a call costs each of them should not grow with their number.
#include <benchmark/benchmark.h>

#include <array>

#include "tests/bench/instant_nccl.h"

namespace {

constexpr int kMostThreads = 8;
constexpr int kCalls = 200'000;  // a thread; each is a record of 64 bytes

ncclComm_t make_communicator(int rank) {
  ncclUniqueId id;
  ncclComm_t communicator = nullptr;
  ncclGetUniqueId(&id);
  ncclCommInitRank(&communicator, kMostThreads, id, rank);
  return communicator;
}

enum class Communicator { kOwn, kShared };

ncclComm_t communicator_for(Communicator whose, int thread) {
  static const auto communicators = [] {
    std::array<ncclComm_t, kMostThreads> made;
    for (int rank = 0; rank < kMostThreads; ++rank)
      made[static_cast<std::size_t>(rank)] = make_communicator(rank);
    return made;
  }();
  return communicators[whose == Communicator::kOwn ? static_cast<std::size_t>(thread) : 0];
}

template <decltype(&ncclAllReduce) function>
void all_reduce(benchmark::State& state, Communicator whose) {
  ncclComm_t communicator = communicator_for(whose, state.thread_index());
  char buffer[4];
  std::size_t count = 0;
  for (auto _ : state) function(buffer, buffer, ++count, ncclFloat, ncclSum, communicator, nullptr);
}

void register_threads(const char* name, void (*function)(benchmark::State&, Communicator),
                      Communicator whose) {
  benchmark::RegisterBenchmark(name, [function, whose](benchmark::State& state) { function(state, whose); })
      ->ThreadRange(1, kMostThreads)
      ->Iterations(kCalls);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  register_threads("bare", &all_reduce<&bare_all_reduce>, Communicator::kOwn);
  register_threads("own_communicator", &all_reduce<&ncclAllReduce>, Communicator::kOwn);
  register_threads("shared_communicator", &all_reduce<&ncclAllReduce>, Communicator::kShared);
  benchmark::RunSpecifiedBenchmarks();
}
