// The trace file comes to be in one thread's first call, slowly, while another one makes calls.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "life_guest.h"

namespace {

constexpr long kPassed = 0x5EC;  // as an argument that openat does not look at
sem_t opening_began;
bool leaves_opening, comes_back;
sigjmp_buf way_out;

// As the kernel was asked, with a last argument that the filter lets pass; by name it would be recorded.
long openat_as_asked(const greg_t* registers) {
  register long mode asm("r10") = registers[REG_R10];
  register long unused asm("r8") = 0;
  register long passed asm("r9") = kPassed;
  long result = SYS_openat;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(registers[REG_RDI]), "S"(registers[REG_RSI]), "d"(registers[REG_RDX]), "r"(mode),
                 "r"(unused), "r"(passed)
               : "rcx", "r11", "memory");
  return result;
}

// An openat that the filter below stopped: takes a third of a second, the first time.
void open_slowly(int, siginfo_t*, void* context) {
  static bool began;
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (!began) {
    began = true;
    sem_post(&opening_began);
    if (leaves_opening) siglongjmp(way_out, 1);
    timespec third{0, 333'000'000};
    nanosleep(&third, nullptr);
  }
  registers[REG_RAX] = openat_as_asked(registers);
}

// Of this thread alone.
bool slow_down_opening() {
  sock_filter stop_openat[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPassed, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(stop_openat) / sizeof(*stop_openat), stop_openat};
  struct sigaction action {};
  action.sa_sigaction = open_slowly;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

void* join_slowly(void* slow) {
  *static_cast<bool*>(slow) = slow_down_opening();
  if (sigsetjmp(way_out, 1) == 0 || comes_back) join();
  return nullptr;
}

}  // namespace

// One thread's first call makes the file, and another one's comes meanwhile.
int opened_meanwhile() {
  sem_init(&opening_began, 0, 0);
  bool slow = false;
  pthread_t thread;
  pthread_create(&thread, nullptr, join_slowly, &slow);
  sem_wait(&opening_began);
  int ends[2];
  bool good = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
  pthread_join(thread, nullptr);
  return good && slow ? 0 : 1;
}

// A jump leaves the call that was to make it, and the thread makes no other.
int opening_left() {
  leaves_opening = true;
  return opened_meanwhile() + reduce(1);
}

// As before, but the thread makes the call anew.
int opening_begun_anew() {
  leaves_opening = comes_back = true;
  return opened_meanwhile() + reduce(1);
}
