// From the exit's record, the traceback before it, and what others saw.
#include "collector/detectors/process_ending.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>

#include "collector/detectors/story.h"
#include "collector/findings/finding.h"
#include "collector/model/system_names.h"

namespace ddpscope::detectors {
namespace {

using model::EventRef;
using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

struct Last {
  std::optional<EventRef> exit, traceback;
};

Last find_last(const Job& job, std::uint32_t process) {
  Last last;
  model::for_each_in_time(job.processes[process].file, {Operation::kExit, Operation::kTraceback},
                          [&](model::EventPlace place, const Record& record) {
                            bool exits = trace::operation_of(record.call) == Operation::kExit;
                            (exits ? last.exit : last.traceback) = EventRef{process, place};
                          });
  return last;
}

// What a job goes on with: a collective, a message, a file made. A byte wakes a thread of the process's own.
bool is_progress(const Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return false;
  if (info->payload == trace::PayloadKind::kCollective) return true;
  if (info->operation == Operation::kStreamSend) {
    auto io = trace::payload_of<trace::payload::StreamIo>(record);
    return io.fd > STDERR_FILENO && io.bytes > io.count;
  }
  if (info->operation != Operation::kOpen || info->payload != trace::PayloadKind::kFileOpen) return false;
  auto opening = trace::payload_of<trace::payload::FileOpen>(record);
  return !opening.error && opening.flags & O_CREAT;
}

// The process ended of the exception: it did so by itself, and its thread did no such thing after it.
bool is_fatal(const Job& job, EventRef traceback) {
  const Record printed = job.record(traceback);
  if (job.begin_ns(traceback) >= job.told_ns(traceback.process)) return false;
  bool went_on = false;
  model::for_each(job.processes[traceback.process].file, [&](model::EventPlace, const Record& record) {
    went_on =
        went_on || (record.thread == printed.thread && record.begin > printed.begin && is_progress(record));
  });
  return !went_on;
}

// libc calls exit() itself when main returns, and an interpreter without debug information has addresses
// only: neither is a place of the program.
std::string own_place(const Job& job, EventRef call) {
  const trace::TraceFile& file = job.processes[call.process].file;
  auto stack = file.stack(job.record(call).stack);
  if (stack.empty()) return "";
  std::string_view module = file.string(stack[0].file);
  if (stack[0].kind == trace::FrameKind::kNative && module.find("/libc.so") != std::string_view::npos)
    return "";
  std::string place = program_place(job, call);
  return findings::is_library_frame(place) || place.find("+0x") != std::string::npos ? "" : place;
}

struct LastCall {
  std::optional<EventRef> event;
  std::string place;
};

// Of the main thread, in a place of the program: its end is later, and may be somewhere else.
LastCall find_last_call(const Job& job, std::uint32_t process) {
  constexpr trace::OperationSet kNoCalls{Operation::kExit, Operation::kTraceback};
  std::map<std::uint32_t, std::string> places;  // by stack
  LastCall last;
  model::for_each_in_time(job.processes[process].file, [&](model::EventPlace place, const Record& record) {
    if (record.thread != model::kMainThread || !record.stack ||
        kNoCalls.has(trace::operation_of(record.call)))
      return;
    EventRef call{process, place};
    auto [known, is_new] = places.try_emplace(record.stack);
    if (is_new) known->second = own_place(job, call);
    if (!known->second.empty()) last = {call, known->second};
  });
  return last;
}

constexpr const char *kAt = " at ", *kAfter = ", after ";

std::string after(const LastCall& last) { return last.event ? kAfter + last.place : ""; }

// `where`: kAt or kAfter. No place: nothing is said of it.
ProcessEnding tell(const std::string& how, const char* where, const std::string& place,
                   std::optional<EventRef> event, const std::string& why = "") {
  std::string to_place = how + (place.empty() ? "" : where);
  return {to_place + place + why, event, false, to_place + findings::key_of_frame(place) + why};
}

// A library's own thread may have called it, and the program's frames are in another one.
ProcessEnding ending_of_abort(const Job& job, EventRef exit) {
  std::string place = own_place(job, exit);
  if (!place.empty()) return tell("aborted (SIGABRT)", kAt, place, exit);
  return tell("aborted (SIGABRT)", kAfter, find_last_call(job, exit.process).place, exit);
}

ProcessEnding ending_of_exit(const Job& job, std::uint32_t process) {
  const trace::FileHeader& header = job.processes[process].header();
  Last last = find_last(job, process);
  if (last.exit && job.record(*last.exit).call == static_cast<std::uint16_t>(trace::Call::abort))
    return ending_of_abort(job, *last.exit);
  std::string how = fmt::format("exited with {}", header.exit_code);
  std::string place = last.exit ? own_place(job, *last.exit) : "";
  if (header.exit_code == 0 && place.empty()) {
    LastCall before = find_last_call(job, process);
    return tell(how, kAfter, before.place, before.event ? before.event : last.exit);
  }
  if (header.exit_code == 0 || !place.empty() || !last.traceback || !is_fatal(job, *last.traceback))
    return tell(how, kAt, place, last.exit);
  auto printed = trace::payload_of<trace::payload::Traceback>(job.record(*last.traceback));
  ProcessEnding ending = tell(how, kAt, program_place(job, *last.traceback), last.traceback,
                              fmt::format(" ({})", job.processes[process].file.string(printed.exception)));
  ending.traceback = true;
  return ending;
}

}  // namespace

ProcessEnding find_ending(const Job& job, std::uint32_t process) {
  const Process& gone = job.processes[process];
  if (gone.header().ended) return ending_of_exit(job, process);
  auto signal = find_signal(job, gone);
  if (!signal) return {};
  LastCall last = find_last_call(job, process);
  return {
      fmt::format("was ended by {}{}{}", text_of_signal(*signal), after(last), text_of_memory(gone, *signal)),
      last.event};
}

std::string place_of_last_call(const Job& job, std::uint32_t process) {
  return find_last_call(job, process).place;
}

std::string after_last_call(const Job& job, std::uint32_t process) {
  return after(find_last_call(job, process));
}

std::optional<int> find_signal(const Job& job, const Process& gone) {
  if (gone.ended_status > 128) return gone.ended_status - 128;
  std::optional<int> signal;
  for (const Process& process : job.processes) {
    if (process.header().pid != gone.header().parent_pid || process.host != gone.host) continue;
    model::for_each(process.file, {Operation::kWaitChild}, [&](model::EventPlace, const Record& record) {
      auto awaited = trace::payload_of<trace::payload::Process>(record);
      if (awaited.pid == gone.header().pid && WIFSIGNALED(awaited.status)) signal = WTERMSIG(awaited.status);
    });
  }
  return signal;
}

bool is_for_ending_jobs(int signal) {
  constexpr int kSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGUSR1, SIGUSR2};
  return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}

bool is_of_its_own(int signal) {
  constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}

std::string text_of_signal(int signal) {
  const char* name = model::name_of_signal(signal);
  return name ? fmt::format("signal {} ({})", signal, name) : fmt::format("signal {}", signal);
}

std::string text_of_memory(const Process& gone, int signal) {
  if (signal != SIGKILL || gone.memory_kills == 0) return "";
  return fmt::format(
      "; the kernel's out-of-memory killer ended {} process{} of its memory cgroup during the run",
      gone.memory_kills, gone.memory_kills == 1 ? "" : "es");
}

}  // namespace ddpscope::detectors
