// Processes made, replaced, ended and awaited.
#pragma once
#include <sys/types.h>
#include <sys/wait.h>

#include <type_traits>

#include "injector/core/hook.h"

namespace ddpscope::injector {

template <Call call>
constexpr bool kIsProcess = std::is_same_v<PayloadOf<call>, trace::payload::Process>;

// `program` is the path or command as given, nullptr for none; its file is not looked for.
trace::OpenRecord begin_process(Call call, const char* program, std::uint32_t flags);
void end_process(const trace::OpenRecord& record, pid_t pid, int status, int error);

// fork() that runs no handlers, or no libc at all: the child starts its own trace here.
pid_t after_fork(pid_t result);

// The process becomes another program: the record has no end if that works. In the child of vfork() it is the
// parent's record of that child, named by the last program tried.
trace::OpenRecord begin_exec(Call call, const char* program);
void end_exec(const trace::OpenRecord& record);

// What wait reports is looked at even when the guest does not want it. `status` may be nullptr.
trace::OpenRecord begin_wait(Call call, pid_t pid, int options);
void end_wait(const trace::OpenRecord& record, pid_t reaped, int status);

// The process ends here and now.
void note_end(Call call, int code);
// exit() begins: what the guest has registered for its end still runs.
void note_exit_called(Call call, int code);

template <Call call, class RealCall>
inline pid_t recorded_fork(RealCall real_call) {
  static_assert(kIsProcess<call>);
  trace::OpenRecord record = begin_process(call, nullptr, 0);
  pid_t pid = real_call();
  end_process(record, pid, 0, pid < 0 ? errno : 0);
  return pid;
}

template <Call call, class RealCall>
inline int recorded_exec(const char* program, RealCall real_call) {
  static_assert(kIsProcess<call>);
  trace::OpenRecord record = begin_exec(call, program);
  int result = real_call();
  end_exec(record);
  return result;
}

// real_call(pid_t*) returns an errno.
template <Call call, class RealCall>
inline int recorded_spawn(pid_t* pid, const char* program, RealCall real_call) {
  static_assert(kIsProcess<call>);
  trace::OpenRecord record = begin_process(call, program, 0);
  pid_t own = 0;
  int error = real_call(pid ? pid : &own);
  end_process(record, error ? 0 : (pid ? *pid : own), 0, error);
  return error;
}

// real_call(int*) returns the pid that was reaped.
template <Call call, class RealCall>
inline pid_t recorded_wait(pid_t pid, int* status, int options, RealCall real_call) {
  static_assert(kIsProcess<call>);
  trace::OpenRecord record = begin_wait(call, pid, options);
  int own = 0;
  pid_t reaped = real_call(status ? status : &own);
  end_wait(record, reaped, reaped > 0 ? (status ? *status : own) : 0);
  return reaped;
}

}  // namespace ddpscope::injector
