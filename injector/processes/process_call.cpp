// Records of processes. None changes errno.
#include "injector/processes/process_call.h"

#include <stdlib.h>

#include "injector/device_times/timing.h"
#include "injector/files/passed_looks.h"
#include "injector/processes/generation.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::raw_syscall;

trace::OpenRecord exit_record;  // open while what the guest registered for its end runs: it may hang there

bool is_given(const char* text) { return reinterpret_cast<std::uintptr_t>(text) >= trace::kPageBytes; }

// As own work only.
trace::OpenRecord open_process(trace::FileWriter& file, Call call, const char* program, pid_t pid,
                               std::uint32_t flags) {
  trace::payload::Process payload{};
  payload.pid = pid;
  payload.path = is_given(program) ? this_thread.writer.intern(file, program) : 0;
  payload.flags = flags;
  return this_thread.writer.open_in(file, call, trace::Budget::kKept, &payload, sizeof(payload), now(file),
                                    unwound_stack(file));
}

// The memory is the parent's, and so is the trace: it learns of the child here.
trace::OpenRecord begin_exec_in_vfork_child(trace::FileWriter& file, const char* program) {
  auto pid = static_cast<pid_t>(raw_syscall(SYS_getpid));
  std::uint64_t key = static_cast<std::uint64_t>(pid) | 1ull << 32;
  trace::OpenRecord record = this_thread.writer.reopen(file, Call::vfork, key);
  if (!record) {
    record = open_process(file, Call::vfork, program, pid, 0);
    this_thread.writer.set_fold_key(key);
  } else {
    record.payload<trace::payload::Process>().path =
        is_given(program) ? this_thread.writer.intern(file, program) : 0;
    record.payload<trace::payload::Process>().error = 0;
  }
  end(record);  // nobody comes back to do it when the program runs
  return record;
}

void record_exit(Call call, int code) {
  keep_looks_of_rank();
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  auto pid = static_cast<pid_t>(raw_syscall(SYS_getpid));
  exit_record = open_process(*file, call, nullptr, pid, 0);
  if (exit_record) exit_record.payload<trace::payload::Process>().status = code;
}

// Runs after everything that the guest has registered for its end. Return from main comes by here only.
void end_of_process(int code, void*) {
  int saved = errno;
  if (!results_in<trace::payload::Process>(exit_record)) record_exit(Call::exit, code);
  end(exit_record);
  note_exit(code);
  errno = saved;
}

__attribute__((constructor(101))) void watch_end() {
  int saved = errno;
  on_exit(end_of_process, nullptr);
  errno = saved;
}

}  // namespace

trace::OpenRecord begin_process(Call call, const char* program, std::uint32_t flags) {
  if (in_vfork_child()) return {};
  note_descriptors_given();
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  return work ? open_process(*file, call, program, 0, flags) : trace::OpenRecord{};
}

void end_process(const trace::OpenRecord& record, pid_t pid, int status, int error) {
  auto* payload = results_in<trace::payload::Process>(record);
  if (!payload) return;
  payload->pid = pid;
  payload->status = status;
  payload->error = error;
  end(record);
}

pid_t after_fork(pid_t result) {
  if (result != 0) return result;
  note_fork();
  start_child();
  return result;
}

trace::OpenRecord begin_exec(Call call, const char* program) {
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return {};
  if (in_vfork_child()) return begin_exec_in_vfork_child(*file, program);
  file->mark_clock();
  return open_process(*file, call, program, static_cast<pid_t>(raw_syscall(SYS_getpid)), 0);
}

void end_exec(const trace::OpenRecord& record) {
  auto* payload = results_in<trace::payload::Process>(record);
  if (!payload) return;
  payload->error = errno;
  if (!record.record->end) end(record);
}

trace::OpenRecord begin_wait(Call call, pid_t pid, int options) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return {};
  std::uint64_t key = options & WNOHANG ? static_cast<std::uint32_t>(pid) | 1ull << 32 : 0;
  if (key)
    if (auto record = this_thread.writer.reopen(*file, call, key)) return record;
  trace::OpenRecord record = open_process(*file, call, nullptr, 0, static_cast<std::uint32_t>(options));
  this_thread.writer.set_fold_key(key);
  return record;
}

void end_wait(const trace::OpenRecord& record, pid_t reaped, int status) {
  if (reaped > 0 && record) this_thread.writer.set_fold_key(0);  // the next child has a record of its own
  end_process(record, reaped > 0 ? reaped : 0, status, reaped < 0 ? errno : 0);
}

void note_end(Call call, int code) {
  if (in_vfork_child()) return;
  finish_device_times();
  record_exit(call, code);
  end(exit_record);
  note_exit(code);
}

void note_exit_called(Call call, int code) {
  if (!in_vfork_child()) record_exit(call, code);
}

}  // namespace ddpscope::injector
