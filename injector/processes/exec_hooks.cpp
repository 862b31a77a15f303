// exec: a successful one never returns.
#include <stdarg.h>
#include <unistd.h>

#include "injector/processes/process_call.h"

extern char** environ;

namespace ddpscope::injector {
namespace {

// The words of a variadic exec, the first one and the closing null included.
std::size_t count_words(va_list rest) {
  std::size_t count = 1;
  while (va_arg(rest, char*)) ++count;
  return count + 1;
}

void copy_words(char** words, const char* first, va_list rest) {
  *words = const_cast<char*>(first);
  while (*words) *++words = va_arg(rest, char*);
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  return recorded_exec<Call::execve>(
      path, [&] { return real<Call::execve>(&execve)(path, arguments, environment); });
}

DDPSCOPE_EXPORT int execv(const char* path, char* const arguments[]) {
  return recorded_exec<Call::execv>(path, [&] { return real<Call::execv>(&execv)(path, arguments); });
}

DDPSCOPE_EXPORT int execvp(const char* name, char* const arguments[]) {
  return recorded_exec<Call::execvp>(name, [&] { return real<Call::execvp>(&execvp)(name, arguments); });
}

DDPSCOPE_EXPORT int execvpe(const char* name, char* const arguments[], char* const environment[]) {
  return recorded_exec<Call::execvpe>(
      name, [&] { return real<Call::execvpe>(&execvpe)(name, arguments, environment); });
}

DDPSCOPE_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) {
  return recorded_exec<Call::fexecve>(
      nullptr, [&] { return real<Call::fexecve>(&fexecve)(fd, arguments, environment); });
}

DDPSCOPE_EXPORT int execveat(int directory, const char* path, char* const arguments[],
                             char* const environment[], int flags) {
  return recorded_exec<Call::execveat>(
      path, [&] { return real<Call::execveat>(&execveat)(directory, path, arguments, environment, flags); });
}

// The words of these stand in the call itself. They are handed on as a list, on the stack: an exec may be
// made in the child of vfork or in a signal handler.

DDPSCOPE_EXPORT int execl(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  std::size_t count = first ? count_words(rest) : 1;
  va_end(rest);
  char** words = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  va_start(rest, first);
  copy_words(words, first, rest);
  va_end(rest);
  return recorded_exec<Call::execl>(path, [&] { return real<Call::execv>(&execv)(path, words); });
}

DDPSCOPE_EXPORT int execlp(const char* name, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  std::size_t count = first ? count_words(rest) : 1;
  va_end(rest);
  char** words = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  va_start(rest, first);
  copy_words(words, first, rest);
  va_end(rest);
  return recorded_exec<Call::execlp>(name, [&] { return real<Call::execvp>(&execvp)(name, words); });
}

// The environment follows the closing null.
DDPSCOPE_EXPORT int execle(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  std::size_t count = first ? count_words(rest) : 1;
  va_end(rest);
  char** words = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  va_start(rest, first);
  copy_words(words, first, rest);
  char** environment = va_arg(rest, char**);
  va_end(rest);
  return recorded_exec<Call::execle>(path,
                                     [&] { return real<Call::execve>(&execve)(path, words, environment); });
}
