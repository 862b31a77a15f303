// Event descriptors, System V's semaphores, and looks at names by a process without a trace.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/bench/measure_calls.h"
#include "tests/bench/timed_calls.h"

// glibc's own names of read and write, which nobody hooks.
extern "C" ssize_t __read(int, void*, size_t);
extern "C" ssize_t __write(int, const void*, size_t);

namespace {

// libc's own function, past the preloaded hook.
template <class Function>
Function* bare(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name));
}

}  // namespace

using namespace ddpscope::bench;

void time_events(std::uint64_t calls) {
  make_communicator();
  int fd = eventfd(0, EFD_CLOEXEC);
  std::uint64_t value = 1;
  measure(
      calls,
      [&](std::size_t) {
        (void)!write(fd, &value, sizeof(value));
        (void)!read(fd, &value, sizeof(value));
      },
      [&](std::size_t) {
        (void)!__write(fd, &value, sizeof(value));
        (void)!__read(fd, &value, sizeof(value));
      });
  close(fd);
}

void time_semaphores(std::uint64_t calls) {
  make_communicator();
  auto* bare_semop = bare<int(int, sembuf*, size_t)>("semop");
  int set = semget(IPC_PRIVATE, 1, 0600);
  sembuf both[] = {{0, 1, 0}, {0, -1, 0}};
  measure(
      calls, [&](std::size_t) { semop(set, both, 2); }, [&](std::size_t) { bare_semop(set, both, 2); });
  semctl(set, 0, IPC_RMID);
}

void time_looks(std::uint64_t calls) {
  constexpr std::size_t kNames = 25;  // one more than are kept
  char names[kNames][64];
  for (std::size_t i = 0; i < kNames; ++i)
    snprintf(names[i], sizeof(names[i]), "/tmp/ddpscope.no.such.name.%zu", i);
  auto* bare_access = bare<int(const char*, int)>("access");
  measure(
      calls, [&](std::size_t i) { (void)!access(names[i % kNames], F_OK); },
      [&](std::size_t i) { (void)!bare_access(names[i % kNames], F_OK); });
}

void time_found_names(std::uint64_t calls) {
  make_communicator();
  auto* bare_access = bare<int(const char*, int)>("access");
  measure(
      calls, [](std::size_t) { (void)!access("/tmp", F_OK); },
      [&](std::size_t) { (void)!bare_access("/tmp", F_OK); });
}

void time_entries(std::uint64_t calls) {
  make_communicator();
  auto* bare_readdir = bare<dirent*(DIR*)>("readdir");
  auto* bare_rewinddir = bare<void(DIR*)>("rewinddir");
  std::string folder = "ddpscope.bench." + std::to_string(getpid());
  mkdir(folder.c_str(), 0755);
  for (int i = 0; i < 500; ++i) close(creat((folder + "/shard-" + std::to_string(i)).c_str(), 0644));
  DIR *hooked = opendir(folder.c_str()), *passed = opendir(folder.c_str());
  measure(
      calls, [&](std::size_t) { readdir(hooked) ? void() : rewinddir(hooked); },
      [&](std::size_t) { bare_readdir(passed) ? void() : bare_rewinddir(passed); });
  closedir(hooked), closedir(passed);
  for (int i = 0; i < 500; ++i) unlink((folder + "/shard-" + std::to_string(i)).c_str());
  rmdir(folder.c_str());
}

void time_end_seeks(std::uint64_t calls) {
  make_communicator();
  auto* bare_lseek = bare<off_t(int, off_t, int)>("lseek");
  char name[] = "/tmp/ddpscope.bench.XXXXXX";
  int fd = mkstemp(name);
  unlink(name);
  measure(
      calls, [&](std::size_t) { lseek(fd, 0, SEEK_END); }, [&](std::size_t) { bare_lseek(fd, 0, SEEK_END); });
  close(fd);
}
