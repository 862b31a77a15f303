// Children awaited, signals sent.
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector/processes/process_call.h"

namespace ddpscope::injector {
namespace {

// What waitid tells, as wait would.
int status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xFF) << 8;
  return info.si_code == CLD_DUMPED ? info.si_status | 0x80 : info.si_status;
}

template <Call call, class RealCall>
int recorded_kill(pid_t pid, int signal, RealCall real_call) {
  static_assert(kIsProcess<call>);
  std::uint64_t key =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(pid)) << 8 | 0x80u | (signal & 0x7F);
  trace::payload::Process payload{};
  payload.pid = pid;
  payload.status = signal;
  std::uint32_t before = this_thread.writer.opened();
  trace::OpenRecord record = begin_folded<call>(Weight::kFollows, key, payload);
  bool first = this_thread.writer.opened() != before;
  int result = real_call();
  // Of a run it counts that a signal was sent, also where a later one found nobody.
  auto* known = result_of<call>(record);
  if (known && (result == 0 || first)) known->error = result == 0 ? 0 : errno;
  end(record);
  return result;
}

// These return an error number.
template <Call call, class RealCall>
int recorded_thread_kill(int signal, RealCall real_call) {
  int saved = errno;
  int result = 0;
  recorded_kill<call>(getpid(), signal, [&] { return errno = result = real_call(); });
  errno = saved;
  return result;
}

using ThreadKill = int(pthread_t, int);
ThreadKill* earlier_kill;

// At the start, as in files/libc.cpp: a signal handler must not get into the dynamic linker.
__attribute__((constructor(101))) void find_earlier_kill() {
  earlier_kill = reinterpret_cast<ThreadKill*>(dlvsym(RTLD_NEXT, "pthread_kill", "GLIBC_2.2.5"));
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT pid_t wait(int* status) {
  return recorded_wait<Call::wait>(-1, status, 0, [](int* to) { return real<Call::wait>(&wait)(to); });
}

DDPSCOPE_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return recorded_wait<Call::waitpid>(
      pid, status, options, [&](int* to) { return real<Call::waitpid>(&waitpid)(pid, to, options); });
}

DDPSCOPE_EXPORT pid_t wait3(int* status, int options, rusage* usage) {
  return recorded_wait<Call::wait3>(-1, status, options,
                                    [&](int* to) { return real<Call::wait3>(&wait3)(to, options, usage); });
}

DDPSCOPE_EXPORT pid_t wait4(pid_t pid, int* status, int options, rusage* usage) {
  return recorded_wait<Call::wait4>(
      pid, status, options, [&](int* to) { return real<Call::wait4>(&wait4)(pid, to, options, usage); });
}

DDPSCOPE_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t* info, int options) {
  ddpscope::trace::OpenRecord record = begin_wait(Call::waitid, static_cast<pid_t>(id), options);
  siginfo_t own{};
  siginfo_t* told = info ? info : &own;
  int result = real<Call::waitid>(&waitid)(kind, id, told, options);
  bool reaped = result == 0 && told->si_pid > 0;
  end_wait(record, result == 0 ? told->si_pid : -1, reaped ? status_of(*told) : 0);
  return result;
}

DDPSCOPE_EXPORT int kill(pid_t pid, int signal) {
  return recorded_kill<Call::kill>(pid, signal, [&] { return real<Call::kill>(&kill)(pid, signal); });
}

DDPSCOPE_EXPORT int sigqueue(pid_t pid, int signal, const sigval value) {
  return recorded_kill<Call::sigqueue>(pid, signal,
                                       [&] { return real<Call::sigqueue>(&sigqueue)(pid, signal, value); });
}

DDPSCOPE_EXPORT int tgkill(pid_t pid, pid_t thread, int signal) {
  return recorded_kill<Call::tgkill>(pid, signal,
                                     [&] { return real<Call::tgkill>(&tgkill)(pid, thread, signal); });
}

extern "C" int pidfd_send_signal(int, int, siginfo_t*, unsigned) noexcept;  // glibc 2.36
DDPSCOPE_EXPORT int pidfd_send_signal(int process, int signal, siginfo_t* info, unsigned flags) noexcept {
  return recorded_kill<Call::pidfd_send_signal>(0, signal, [&] {
    return real<Call::pidfd_send_signal>(&pidfd_send_signal)(process, signal, info, flags);
  });
}

// Of a thread that has ended, and that nobody joined, it says ESRCH in programs that were linked before glibc
// 2.34, and 0 in later ones: each goes to its own version.

DDPSCOPE_EXPORT int pthread_kill_2_34(pthread_t thread, int signal) {
  return recorded_thread_kill<Call::pthread_kill>(
      signal, [&] { return real<Call::pthread_kill>(&pthread_kill)(thread, signal); });
}
asm(".symver pthread_kill_2_34, pthread_kill@@GLIBC_2.34, remove");

DDPSCOPE_EXPORT int pthread_kill_2_2_5(pthread_t thread, int signal) {
  if (!earlier_kill) find_earlier_kill();  // by a constructor that runs before ours
  return recorded_thread_kill<Call::pthread_kill>(signal, [&] { return earlier_kill(thread, signal); });
}
asm(".symver pthread_kill_2_2_5, pthread_kill@GLIBC_2.2.5, remove");

DDPSCOPE_EXPORT int pthread_sigqueue(pthread_t thread, int signal, const sigval value) {
  return recorded_thread_kill<Call::pthread_sigqueue>(
      signal, [&] { return real<Call::pthread_sigqueue>(&pthread_sigqueue)(thread, signal, value); });
}

DDPSCOPE_EXPORT int killpg(pid_t group, int signal) {
  return recorded_kill<Call::killpg>(-group, signal,
                                     [&] { return real<Call::killpg>(&killpg)(group, signal); });
}
