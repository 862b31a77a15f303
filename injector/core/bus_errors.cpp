// A handler that replaces the page, or steps back.
#include "injector/core/bus_errors.h"

#include <errno.h>
#include <signal.h>

#include "trace/write/lost_pages.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

// A touch of memory comes again, and ends the process; a signal that somebody sent has to be sent anew, and
// is taken when this handler returns.
void end_by_default(const siginfo_t* info) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &plain, nullptr);
  if (info->si_code <= 0)
    trace::raw_syscall(SYS_tgkill, trace::raw_syscall(SYS_getpid), trace::raw_syscall(SYS_gettid), SIGBUS);
}

void handle(int, siginfo_t* info, void*) {
  int saved = errno;
  bool is_fault = info->si_code > 0;
  if (!is_fault || !trace::replace_lost_page(info->si_addr)) end_by_default(info);
  errno = saved;
}

}  // namespace

void survive_lost_pages() {
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
    return;
  struct sigaction own {};
  own.sa_sigaction = handle;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&own.sa_mask);
  sigaction(SIGBUS, &own, nullptr);
}

}  // namespace ddpscope::injector
