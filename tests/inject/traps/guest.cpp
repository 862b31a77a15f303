// One small program a trap, chosen by its first argument; exit code 0: the guest saw what it would have seen
// alone.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>

struct UniqueId {
  char bytes[128];
};
extern "C" {
int ncclGetUniqueId(UniqueId* id);
int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank);
int ncclCommInitAll(void** comms, int ranks, const int* devices);
int ncclCommSplit(void* comm, int color, int key, void** child, void* config);
int ncclCommDestroy(void* comm);
int ncclCommGetAsyncError(void* comm, int* error);
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream);
int ncclBcast(void* buffer, size_t count, int type, int root, void* comm, void* stream);
extern jmp_buf fake_nccl_way_out;
int reduce_with_frame_pointer(unsigned long value);
}

// Code without frame pointers keeps anything in their register. ncclAllReduce with count 71 and no
// communicator.
asm(R"(
  .text
  .type reduce_with_frame_pointer, @function
reduce_with_frame_pointer:
  pushq %rbp
  movq %rdi, %rbp
  xorl %edi, %edi
  xorl %esi, %esi
  movl $71, %edx
  movl $7, %ecx
  xorl %r8d, %r8d
  xorl %r9d, %r9d
  subq $8, %rsp
  pushq $0
  call ncclAllReduce@PLT
  addq $16, %rsp
  popq %rbp
  ret
)");

namespace {

constexpr size_t kHang = 1000001;
constexpr size_t kLeave = 1000002;
constexpr int kFloat = 7;

void* comm;

__attribute__((noinline)) int reduce(size_t count) {
  return ncclAllReduce(nullptr, nullptr, count, kFloat, 0, comm, nullptr);
}

void join() {
  UniqueId id{{1}};
  ncclCommInitRank(&comm, 2, id, 0);
}

int killed() {
  pid_t child = fork();
  if (child == 0) {
    join();
    reduce(kHang);
  }
  usleep(500000);
  kill(child, SIGKILL);
  return waitpid(child, nullptr, 0) == child ? 0 : 1;
}

int nested() {
  join();
  return ncclBcast(nullptr, 5, kFloat, 0, comm, nullptr);
}

__attribute__((noinline)) int deeper(int depth, size_t count) {
  volatile char room[512];
  for (size_t i = 0; i < sizeof(room); ++i) room[i] = static_cast<char>(depth);
  int result = depth ? deeper(depth - 1, count) : reduce(count);
  return result + room[0] * 0;
}

int left_by_longjmp() {
  join();
  if (setjmp(fake_nccl_way_out) == 0) reduce(kLeave);
  return deeper(8, 11) + reduce(12);
}

void in_handler(int) { reduce(3); }

int interrupted() {
  join();
  struct sigaction action {};
  action.sa_handler = in_handler;
  sigaction(SIGALRM, &action, nullptr);
  itimerval every{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &every, nullptr);
  for (int i = 0; i < 300000; ++i) reduce(1);
  itimerval never{};
  return setitimer(ITIMER_REAL, &never, nullptr);
}

void* hang(void*) {
  reduce(kHang);
  return nullptr;
}

int cancelled() {
  join();
  pthread_t thread;
  pthread_create(&thread, nullptr, hang, nullptr);
  usleep(300000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  return reduce(21);
}

void* ask(void*) {
  int error;
  for (int i = 0; i < 2; ++i) ncclCommGetAsyncError(comm, &error);
  return nullptr;
}

int short_threads() {
  join();
  for (int i = 0; i < 1500; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, ask, nullptr) != 0) return 1;
    pthread_join(thread, nullptr);
  }
  return 0;
}

int in_child(pid_t child) {
  if (child == 0) {
    for (int i = 0; i < 100; ++i) reduce(31);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status + reduce(32);
}

int forked() {
  join();
  return in_child(fork());
}

int cloned() {
  join();
  return in_child(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)));
}

int idle() {
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  FILE* file = fopen("/etc/passwd", "r");
  return file && fgetc(file) != EOF && fclose(file) == 0 ? 0 : 1;
}

int executed(char** arguments) {
  join();
  char next[] = "nested";
  char* words[] = {arguments[0], next, nullptr};
  return execv("/proc/self/exe", words);
}

// Descriptors that are not the guest's own.
int descriptors() {
  join();
  reduce(41);
  int open = 0;
  for (int fd = 3; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) >= 0;
  closefrom(3);
  for (int i = 0; i < 1000; ++i) reduce(42);
  return open;
}

int size_limit() {
  join();
  rlimit limit{1 << 20, 1 << 20};
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 50000; ++i) reduce(static_cast<size_t>(i));
  return 0;
}

int many() {
  join();
  for (int i = 0; i < 50000; ++i) reduce(static_cast<size_t>(i));
  return 0;
}

int moved() {
  if (chdir("/") != 0) return 1;
  join();
  for (int i = 0; i < 1000; ++i) reduce(static_cast<size_t>(i));
  return 0;
}

int rooted() {
  join();
  if (chroot("/usr") != 0) return 1;
  for (int i = 0; i < 50000; ++i) reduce(static_cast<size_t>(i));
  return 0;
}

int error_number() {
  errno = 77;
  join();
  int wrong = errno != 77;
  for (int i = 0; i < 5000 && !wrong; ++i) {
    reduce(static_cast<size_t>(i));
    wrong = errno != 77;
  }
  return wrong;
}

int identities() {
  void* comms[2];
  UniqueId id;
  ncclGetUniqueId(&id);
  for (int rank = 0; rank < 2; ++rank) ncclCommInitRank(&comms[rank], 2, id, rank);
  void* child;
  for (int color : {5, 5, 6})
    for (void* parent : comms) ncclCommSplit(parent, color, 0, &child, nullptr);
  comm = comms[0];
  ncclCommDestroy(comm);
  reduce(51);  // unknown
  ncclCommInitRank(&comm, 2, id, 0);
  return reduce(52) + reduce(53);
}

int init_all() {
  void* comms[3];
  const int devices[] = {4, 5, 6};
  return ncclCommInitAll(comms, 3, devices);
}

int ask_and_call(const char* library, int flags) {
  void* handle = dlopen(library, RTLD_NOW | flags);
  auto consume = handle ? reinterpret_cast<int (*)(size_t)>(dlsym(handle, "consume")) : nullptr;
  return consume ? consume(61) : 1;
}

int frame_pointers() {
  join();
  char* top = reinterpret_cast<char*>(__builtin_frame_address(0));
  reduce_with_frame_pointer(reinterpret_cast<unsigned long>(top) + (16ul << 20));  // beyond the stack
  for (unsigned long i = 0; i < 200000; i += 8) {
    reduce_with_frame_pointer(reinterpret_cast<unsigned long>(top) + i);
    reduce_with_frame_pointer(i);
  }
  return 0;
}

int secure(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  auto init =
      handle ? reinterpret_cast<decltype(&ncclCommInitRank)>(dlsym(handle, "ncclCommInitRank")) : nullptr;
  UniqueId id{{1}};
  return init && init(&comm, 2, id, 0) == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, int (*)()> traps = {
      {"killed", killed},
      {"nested", nested},
      {"longjmp", left_by_longjmp},
      {"signal", interrupted},
      {"cancelled", cancelled},
      {"threads", short_threads},
      {"fork", forked},
      {"clone", cloned},
      {"idle", idle},
      {"many", many},
      {"size-limit", size_limit},
      {"chdir", moved},
      {"chroot", rooted},
      {"errno", error_number},
      {"identities", identities},
      {"init-all", init_all},
      {"descriptors", descriptors},
      {"frame-pointers", frame_pointers},
  };
  std::string name = count > 1 ? arguments[1] : "";
  if (name == "exec") return executed(arguments);
  if (name == "local") return ask_and_call(arguments[2], RTLD_LOCAL);
  if (name == "deepbind") return ask_and_call(arguments[2], RTLD_LOCAL | RTLD_DEEPBIND);
  if (name == "secure") return secure(arguments[2]);
  auto trap = traps.find(name);
  return trap == traps.end() ? 2 : trap->second();
}
