// What becomes of a process and its threads: copies, ends, signals. Exit code and output are what they would
// be alone.
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>

#include "life_guest.h"

struct UniqueId {
  char bytes[128];
};
extern "C" {
int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank);
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream);
int ncclCommGetAsyncError(void* comm, int* error);
int ncclCommDestroy(void* comm);
extern void (*fake_nccl_inside)();
}

namespace {

void* comm;
char** arguments;

}  // namespace

__attribute__((noinline)) int reduce(size_t count) {
  return ncclAllReduce(nullptr, nullptr, count, 7, 0, comm, nullptr);
}

void join() {
  UniqueId id{{1}};
  ncclCommInitRank(&comm, 2, id, 0);
}

namespace {

// Each child's record falls on another place of a chunk.
int vforked_often() {
  join();
  int status = 0;
  for (int i = 0; i < 300; ++i) {
    pid_t pid = vfork();
    if (pid == 0) {
      execl("/no/such/program", "program", nullptr);
      _exit(errno == ENOENT ? 3 : 4);
    }
    waitpid(pid, &status, 0);
    if (WEXITSTATUS(status) != 3) return 1;
  }
  return 0;
}

// Somebody waits for the trace with a link of its name.
int planted() {
  char host[64] = {}, state[1024] = {};
  gethostname(host, sizeof(host) - 1);
  FILE* file = fopen("/proc/self/stat", "r");
  bool good = fread(state, 1, sizeof(state) - 1, file) > 0 && fclose(file) == 0;
  const char* field = strrchr(state, ')');
  for (int number = 2; field && number < 22; ++number) field = strchr(field + 1, ' ');
  long started = field ? atol(field) : 0;
  std::string trace = getenv("DDPSCOPE_TRACE");
  trace += std::string("/") + host + "." + std::to_string(getpid()) + "." + std::to_string(started);
  trace += ".part";
  good &= syscall(SYS_symlink, "../victim", trace.c_str()) == 0;  // unseen: by name it would open the trace
  join();
  return good && reduce(1) == 0 ? 0 : 1;
}

// Threads that the guest did not make: Python warns of forks beside them.
int alone() {
  join();
  reduce(1);
  int threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (dirent* task = readdir(tasks)) threads += task->d_name[0] != '.';
  closedir(tasks);
  return threads == 1 ? 0 : 1;
}

void wait_for_ever() {
  for (;;) pause();
}

void* hang(void*) {
  reduce(1);
  return nullptr;
}

// As a framework's watchdog does, while a collective hangs in another thread.
int watched() {
  join();
  fake_nccl_inside = wait_for_ever;
  pthread_t thread;
  pthread_create(&thread, nullptr, hang, nullptr);
  usleep(300000);
  fake_nccl_inside = nullptr;
  int error = 0;
  alarm(60);
  return ncclCommGetAsyncError(comm, &error) + reduce(2) + ncclCommDestroy(comm);
}

void* end_later(void*) {
  usleep(100000);
  reduce(6);
  exit(7);
}

int end() {
  join();
  for (size_t count = 1; count <= 5; ++count) reduce(count);
  const std::string how = arguments[2];
  if (how == "exit") exit(7);
  if (how == "_exit") _exit(7);
  if (how == "_Exit") _Exit(7);
  if (how == "quick_exit") quick_exit(7);
  if (how == "abort") abort();
  if (how == "pthread_exit") {
    pthread_t thread;
    pthread_create(&thread, nullptr, end_later, nullptr);
    pthread_exit(nullptr);
  }
  return 7;
}

// Without frame pointers only unwinding tables tell who called.
__attribute__((noinline)) pid_t make_child() {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  asm volatile("" ::: "memory");
  return pid;
}
__attribute__((noinline)) pid_t prepare_child(int times) {
  volatile char room[128];
  room[0] = static_cast<char>(times);
  return make_child() + room[0] * 0;
}

int unwound() {
  join();
  pid_t pid = prepare_child(1);
  return waitpid(pid, nullptr, 0) == pid ? 0 : 1;
}

int vendors_ends[2];

void* vendors_thread(void*) {
  if (write(vendors_ends[0], "abc", 3) != 3) abort();
  int own[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, own);
  if (write(own[0], "abcd", 4) != 4) abort();
  return nullptr;
}

void be_nccl() {
  socketpair(AF_UNIX, SOCK_STREAM, 0, vendors_ends);
  pthread_t thread;
  pthread_create(&thread, nullptr, vendors_thread, nullptr);
  pthread_join(thread, nullptr);
}

// The library's own sockets and threads, then the guest's on the same descriptors.
int vendor() {
  join();
  fake_nccl_inside = be_nccl;
  reduce(1);
  char data[8];
  bool good = read(vendors_ends[1], data, sizeof(data)) == 3;
  for (int fd = vendors_ends[0]; fd < vendors_ends[0] + 4; ++fd) good &= close(fd) == 0;
  int ends[2];
  good &= socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && ends[0] == vendors_ends[0];
  good &= write(ends[0], "abcde", 5) == 5 && read(ends[1], data, sizeof(data)) == 5;
  return good ? 0 : 1;
}

volatile sig_atomic_t interruptions;

__attribute__((noinline)) void in_handler(int) {
  interruptions = interruptions + 1;
  reduce(static_cast<size_t>(1000 + interruptions));
}

// A handler with a stack of its own, between calls and at every instruction of one.
int on_other_stack() {
  static char stack[1 << 16];
  join();
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = in_handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGTRAP, &action, nullptr);
  raise(SIGTRAP);
  reduce(1);
  asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  reduce(2);
  asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  reduce(3);
  printf("%d\n", interruptions);
  return 0;
}

// Five bytes before another program runs, six after, on one descriptor.
int socket_over_exec() {
  join();
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  if (write(ends[0], "01234", 5) != 5) return 1;
  std::string from = std::to_string(ends[0]), to = std::to_string(ends[1]);
  execl("/proc/self/exe", "life_guest", "inherited-socket", from.c_str(), to.c_str(), nullptr);
  return 1;
}

int inherited_socket() {
  join();
  char data[16];
  bool good = write(std::stoi(arguments[2]), "abcdef", 6) == 6;
  good &= read(std::stoi(arguments[3]), data, sizeof(data)) == 11;
  return good ? 0 : 1;
}

int ends_of_pair[2];
sigjmp_buf way_out;
void leave(int) { siglongjmp(way_out, 1); }

volatile sig_atomic_t steps_left;
void leave_at_last(int) {
  steps_left = steps_left - 1;
  if (steps_left <= 0) siglongjmp(way_out, 1);
}

// A handler that leaves after so many instructions of a call. The flag that traps each is gone in the handler
// and stays gone when it leaves.
__attribute__((noinline)) bool leave_after(int steps) {
  steps_left = steps;
  if (sigsetjmp(way_out, 1) != 0) return true;
  asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  reduce(1);
  asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  return false;
}

int left_in_own_work() {
  join();
  reduce(1);
  signal(SIGTRAP, leave_at_last);
  int jumps = 0;
  for (int steps = 1; leave_after(steps); steps += 3) {
    reduce(2);
    ++jumps;
  }
  printf("%d\n", jumps);
  return 0;
}

// Out of a call that waits for bytes, which come only then.
int left_while_reading() {
  join();
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of_pair);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* left = static_cast<volatile int*>(page);
  if (fork() == 0) {
    while (!*left) usleep(10000);
    _exit(send(ends_of_pair[0], "abc", 3, 0) == 3 ? 0 : 1);
  }
  signal(SIGALRM, leave);
  itimerval once{{0, 0}, {0, 100000}};
  char data[8];
  if (sigsetjmp(way_out, 1) == 0) {
    setitimer(ITIMER_REAL, &once, nullptr);
    recv(ends_of_pair[1], data, sizeof(data), 0);
    return 1;
  }
  *left = 1;
  bool good = recv(ends_of_pair[1], data, sizeof(data), 0) == 3;
  int status = 1;
  wait(&status);
  return good ? status : 1;
}

void* read_for_ever(void*) {
  char data[8];
  recv(ends_of_pair[1], data, sizeof(data), 0);
  return nullptr;
}

int cancelled_while_reading() {
  join();
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of_pair);
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, read_for_ever, nullptr);
  usleep(300000);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  char data[8];
  bool good = result == PTHREAD_CANCELED && send(ends_of_pair[0], "abc", 3, 0) == 3;
  good &= recv(ends_of_pair[1], data, sizeof(data), 0) == 3;
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  arguments = words;
  const std::map<std::string, int (*)()> traps = {
      {"vfork", vforked_often},
      {"end", end},
      {"planted", planted},
      {"alone", alone},
      {"watched", watched},
      {"unwound", unwound},
      {"vendor", vendor},
      {"other-stack", on_other_stack},
      {"socket-over-exec", socket_over_exec},
      {"inherited-socket", inherited_socket},
      {"opened-meanwhile", opened_meanwhile},
      {"opening-left", opening_left},
      {"opening-begun-anew", opening_begun_anew},
      {"left-in-own-work", left_in_own_work},
      {"left-while-reading", left_while_reading},
      {"cancelled-while-reading", cancelled_while_reading},
  };
  auto trap = traps.find(count > 1 ? words[1] : "");
  return trap == traps.end() ? 2 : trap->second();
}
