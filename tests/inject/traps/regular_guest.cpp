// Collectives that recur, and what may happen in the middle of one. Exit code 0: the guest saw what it would
// have seen alone.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <random>
#include <string>
#include <vector>

struct UniqueId {
  char bytes[128];
};
extern "C" {
int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank);
int ncclGroupStart();
int ncclGroupEnd();
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream);
int ncclBcast(void* buffer, size_t count, int type, int root, void* comm, void* stream);
extern void (*fake_nccl_inside)();
}

namespace {

constexpr int kFloat = 7;
void* comms[2];

__attribute__((noinline)) int reduce(size_t count, int which = 0) {
  return ncclAllReduce(nullptr, nullptr, count, kFloat, 0, comms[which], nullptr);
}

void join() {
  UniqueId first{{1}}, second{{2}};
  ncclCommInitRank(&comms[0], 2, first, 0);
  ncclCommInitRank(&comms[1], 2, second, 1);
}

void recur() {
  for (int i = 0; i < 50; ++i) reduce(9);
}

long long now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

struct Made {
  long long begin, end;
  const char* call;
  size_t count;
  int which;
};

// Twenty buckets a step, a broadcast, on two communicators, and now and then one that never comes back.
int steps() {
  join();
  std::mt19937 random(7);
  std::vector<Made> made;
  for (int step = 0; step < 400; ++step)
    for (size_t bucket = 0; bucket < 22; ++bucket) {
      size_t count = bucket < 20 ? 1000 + bucket : random();
      int which = bucket % 5 == 0;
      ncclGroupStart();
      Made one{now_ns(), 0, bucket < 21 ? "ncclAllReduce" : "ncclBcast", count, which};
      if (bucket < 21)
        reduce(count, which);
      else
        ncclBcast(nullptr, count, kFloat, 0, comms[which], nullptr);
      one.end = now_ns();
      ncclGroupEnd();
      made.push_back(one);
    }
  for (const Made& one : made)
    printf("%lld %lld %s %zu %d\n", one.begin, one.end, one.call, one.count, one.which + 1);
  return 0;
}

void hang() {
  for (;;) pause();
}

int killed() {
  pid_t child = fork();
  if (child == 0) {
    join();
    recur();
    fake_nccl_inside = hang;
    reduce(9);
  }
  usleep(500000);
  kill(child, SIGKILL);
  return waitpid(child, nullptr, 0) == child ? 0 : 1;
}

jmp_buf way_out;

void leave() { longjmp(way_out, 1); }

int left() {
  join();
  recur();
  fake_nccl_inside = leave;
  if (setjmp(way_out) == 0) reduce(9);
  fake_nccl_inside = nullptr;
  recur();
  return reduce(9, 1);
}

pid_t child;

// The child has a trace of its own before it comes back.
void fork_now() {
  fake_nccl_inside = nullptr;
  child = fork();
  if (child == 0) close(open("of_child", O_CREAT | O_WRONLY, 0600));
}

void clone_now() {
  fake_nccl_inside = nullptr;
  child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// Parent and child come back from the call that one of them began.
int doubled(void (*copy)(), bool goes_on) {
  join();
  recur();
  fake_nccl_inside = copy;
  reduce(9);
  if (goes_on || child) recur();
  if (child == 0) _exit(5);
  int status = 1;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int forked() { return doubled(fork_now, true); }
int cloned() { return doubled(clone_now, true); }
int cloned_and_gone() { return doubled(clone_now, false); }

volatile sig_atomic_t interruptions;

void in_handler(int) {
  interruptions = interruptions + 1;
  reduce(9);
  reduce(static_cast<size_t>(interruptions));
}

// A signal at every single instruction of recurring calls.
__attribute__((noinline)) void reduce_step_by_step() {
  asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
  reduce(9);
  reduce(9, 1);
  asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}

int interrupted() {
  join();
  recur();
  for (int i = 0; i < 5; ++i) reduce(9, 1);
  struct sigaction action {};
  action.sa_handler = in_handler;
  sigaction(SIGTRAP, &action, nullptr);
  for (int i = 0; i < 3; ++i) reduce_step_by_step();
  printf("%d\n", interruptions);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, int (*)()> traps = {{"steps", steps},
                                                  {"killed", killed},
                                                  {"left", left},
                                                  {"forked", forked},
                                                  {"cloned", cloned},
                                                  {"gone", cloned_and_gone},
                                                  {"interrupted", interrupted}};
  auto trap = traps.find(count > 1 ? arguments[1] : "");
  return trap == traps.end() ? 2 : trap->second();
}
