// The three legs of a measurement, block by block.
#include "tests/bench/timed_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/bench/instant_nccl.h"
#include "tests/bench/latencies.h"

// glibc's own names of read and write, which nobody hooks.
extern "C" ssize_t __read(int, void*, size_t);
extern "C" ssize_t __write(int, const void*, size_t);

namespace ddpscope::bench {
namespace {

constexpr std::size_t kBlock = 1000;

// Functions of their own, so that callgrind can tell them apart.
template <class Call>
[[gnu::noinline]] void hooked_block(Latencies& latencies, std::size_t calls, const Call& call) {
  latencies.time(calls, call);
}
template <class Call>
[[gnu::noinline]] void bare_block(Latencies& latencies, std::size_t calls, const Call& call) {
  latencies.time(calls, call);
}

void print(const char* name, const Summary& s, const char* end) {
  std::printf(
      R"("%s": {"p50": %.1f, "p99": %.1f, "p99.9": %.1f, "max": %.1f, "mean": %.2f, "processor": %.2f}%s)",
      name, s.p50, s.p99, s.p999, s.max, s.mean, s.processor, end);
}

template <class Hooked, class Bare>
void measure(std::size_t calls, const Hooked& hooked, const Bare& bare) {
  for (std::size_t i = 0; i < kBlock; ++i) hooked(i);
  Latencies with(calls), without(calls), nothing(calls);
  for (std::size_t done = 0; done < calls; done += kBlock) {
    std::size_t block = std::min(kBlock, calls - done);
    hooked_block(with, block, hooked);
    bare_block(without, block, bare);
    nothing.time(block, [](std::size_t) {});
  }
  std::printf("{");
  print("hooked", with.summary(), ", ");
  print("bare", without.summary(), ", ");
  print("idle", nothing.summary(), "}\n");
}

// Valgrind 3.19 dies when it merges two mappings of one file that were made under different names, as the
// trace's header (before the file is renamed into place) and its first chunk are: here is a hole for the
// header alone.
void part_header_from_chunks() {
  constexpr std::size_t kPage = 4096;
  void* pages = mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) munmap(static_cast<char*>(pages) + kPage, kPage);
}

// Of a process that is recorded from here on.
ncclComm_t make_communicator() {
  part_header_from_chunks();
  ncclUniqueId id;
  ncclComm_t communicator = nullptr;
  ncclGetUniqueId(&id);
  ncclCommInitRank(&communicator, 1, id, 0);
  return communicator;
}

}  // namespace
}  // namespace ddpscope::bench

using namespace ddpscope::bench;

void time_collectives(std::uint64_t calls, std::uint64_t kinds) {
  ncclComm_t communicator = make_communicator();
  char buffer[4];
  measure(
      calls,
      [&](std::size_t i) {
        ncclAllReduce(buffer, buffer, i % kinds, ncclFloat, ncclSum, communicator, nullptr);
      },
      [&](std::size_t i) {
        bare_all_reduce(buffer, buffer, i % kinds, ncclFloat, ncclSum, communicator, nullptr);
      });
}

void time_reads(std::uint64_t calls) {
  make_communicator();
  int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  char byte;
  measure(
      calls, [&](std::size_t) { (void)!read(fd, &byte, 1); },
      [&](std::size_t) { (void)!__read(fd, &byte, 1); });
  close(fd);
}

void time_writes(std::uint64_t calls) {
  make_communicator();
  int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  char byte = 0;
  measure(
      calls, [&](std::size_t) { (void)!write(fd, &byte, 1); },
      [&](std::size_t) { (void)!__write(fd, &byte, 1); });
  close(fd);
}
