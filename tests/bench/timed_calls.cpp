// Collectives, reads and writes.
#include "tests/bench/timed_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/measure_calls.h"

// glibc's own names of read and write, which nobody hooks.
extern "C" ssize_t __read(int, void*, size_t);
extern "C" ssize_t __write(int, const void*, size_t);
extern "C" ssize_t __send(int, const void*, size_t, int);

namespace ddpscope::bench {
namespace {

// Valgrind 3.19 dies when it merges two mappings of one file that were made under different names, as the
// trace's header (before the file is renamed into place) and its first chunk are: here is a hole for the
// header alone.
void part_header_from_chunks() {
  constexpr std::size_t kPage = 4096;
  void* pages = mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) munmap(static_cast<char*>(pages) + kPage, kPage);
}

}  // namespace

ncclComm_t make_communicator() {
  part_header_from_chunks();
  ncclUniqueId id;
  ncclComm_t communicator = nullptr;
  ncclGetUniqueId(&id);
  ncclCommInitRank(&communicator, 1, id, 0);
  return communicator;
}

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

// Of a byte that is taken out again, so that the buffer never fills.
void time_sends(std::uint64_t calls) {
  make_communicator();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  char byte = 0;
  measure(
      calls,
      [&](std::size_t) {
        (void)!send(ends[0], &byte, 1, 0);
        (void)!__read(ends[1], &byte, 1);
      },
      [&](std::size_t) {
        (void)!__send(ends[0], &byte, 1, 0);
        (void)!__read(ends[1], &byte, 1);
      });
  close(ends[0]);
  close(ends[1]);
}
