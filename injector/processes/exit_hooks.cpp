// The ways in which a process ends by itself.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "injector/processes/process_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT void exit(int code) {
  note_exit_called(Call::exit, code);
  real<Call::exit> (&exit)(code);
  __builtin_unreachable();
}

DDPSCOPE_EXPORT void _exit(int code) {
  note_end(Call::_exit, code);
  real<Call::_exit> (&_exit)(code);
  __builtin_unreachable();
}

DDPSCOPE_EXPORT void _Exit(int code) {
  note_end(Call::_Exit, code);
  real<Call::_Exit> (&_Exit)(code);
  __builtin_unreachable();
}

DDPSCOPE_EXPORT void quick_exit(int code) {
  note_end(Call::quick_exit, code);
  real<Call::quick_exit> (&quick_exit)(code);
  __builtin_unreachable();
}

// A shell says 128 and the signal.
DDPSCOPE_EXPORT void abort() {
  note_end(Call::abort, 128 + SIGABRT);
  real<Call::abort> (&abort)();
  __builtin_unreachable();
}
