// fork, posix_spawn and their kin.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injector/files/stream_call.h"
#include "injector/processes/process_call.h"

using namespace ddpscope::injector;

// The child's trace begins in the handler that fork() runs in it, see core/.
DDPSCOPE_EXPORT pid_t fork() {
  return recorded_fork<Call::fork>([] { return real<Call::fork>(&fork)(); });
}

// Runs no handlers.
extern "C" pid_t _Fork();
DDPSCOPE_EXPORT pid_t _Fork() {
  return recorded_fork<Call::_Fork>([] { return after_fork(real<Call::_Fork>(&_Fork)()); });
}

DDPSCOPE_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const arguments[],
                                char* const environment[]) {
  return recorded_spawn<Call::posix_spawn>(pid, path, [&](pid_t* made) {
    return real<Call::posix_spawn>(&posix_spawn)(made, path, actions, attributes, arguments, environment);
  });
}

DDPSCOPE_EXPORT int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const arguments[],
                                 char* const environment[]) {
  return recorded_spawn<Call::posix_spawnp>(pid, name, [&](pid_t* made) {
    return real<Call::posix_spawnp>(&posix_spawnp)(made, name, actions, attributes, arguments, environment);
  });
}

// A shell and its wait in one; the pid is not told.
DDPSCOPE_EXPORT int system(const char* command) {
  ddpscope::trace::OpenRecord record = begin_process(Call::system, command, 0);
  int status = real<Call::system>(&system)(command);
  end_process(record, 0, status, status == -1 ? errno : 0);
  return status;
}

DDPSCOPE_EXPORT FILE* popen(const char* command, const char* mode) {
  ddpscope::trace::OpenRecord record = begin_process(Call::popen, command, 0);
  FILE* stream = real<Call::popen>(&popen)(command, mode);
  end_process(record, 0, 0, stream ? 0 : errno);
  return stream;
}

DDPSCOPE_EXPORT int pclose(FILE* stream) {
  forget_descriptor(descriptor_of(stream));
  ddpscope::trace::OpenRecord record = begin_process(Call::pclose, nullptr, 0);
  int status = real<Call::pclose>(&pclose)(stream);
  end_process(record, 0, status, status == -1 ? errno : 0);
  return status;
}
