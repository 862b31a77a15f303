// Opens the trace at the first event of weight; starts anew in forked children.
#include "injector/core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "injector/core/settings.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {

constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

namespace {

enum class State : int { kUnopened, kOpening, kOpen, kOff };

struct Process {
  trace::FileWriter file;
  State state;          // __atomic
  bool follows_parent;  // the parent was recorded: any event opens this one
  pthread_key_t thread_end;
  char directory[trace::kMaxPath];
  std::uint64_t ring_bytes;
};
Process process;

void end_thread(void*) {
  this_thread.busy = true;  // later hooks of this dying thread pass by
  if (process.file.is_open()) this_thread.writer.leave(process.file);
}

bool read_settings() {
  const char* disable = getenv("DDPSCOPE_DISABLE");
  const char* directory = getenv("DDPSCOPE_TRACE");
  if ((disable && strcmp(disable, "0") != 0 && *disable) || !directory || !*directory) return false;
  if (strlen(directory) >= sizeof(process.directory)) return false;
  strcpy(process.directory, directory);
  const char* ring = getenv("DDPSCOPE_RING");
  process.ring_bytes = ring ? strtoull(ring, nullptr, 10) : 0;
  if (!process.ring_bytes) process.ring_bytes = trace::kDefaultRingBytes;
  return true;
}

// The environment is read once, before the guest can change or clear it.
__attribute__((constructor(101))) void load() {
  int saved = errno;
  bool on = read_settings() && pthread_key_create(&process.thread_end, end_thread) == 0;
  process.state = on ? State::kUnopened : State::kOff;
  pthread_atfork(nullptr, nullptr, start_child);
  errno = saved;
}

__attribute__((destructor)) void unload() {
  if (trace::FileWriter* file = open_recorder()) file->mark_clock();
}

void open_file() {
  trace::Identity identity{};
  read_identity(&identity);
  bool opened = process.file.open(process.directory, identity, trace::host_clock(), process.ring_bytes, true);
  if (opened) write_settings(process.file);
  __atomic_store_n(&process.state, opened ? State::kOpen : State::kOff, __ATOMIC_RELEASE);
}

// Another thread is opening the file (under a millisecond): its events are worth a short wait, not a lock.
void await_opening() {
  for (int turn = 0; turn < 1000 && __atomic_load_n(&process.state, __ATOMIC_ACQUIRE) == State::kOpening;
       ++turn)
    trace::raw_syscall(SYS_sched_yield);
}

void register_thread() {
  if (this_thread.registered) return;
  this_thread.registered = true;
  int saved = errno;
  pthread_setspecific(process.thread_end, &process);
  errno = saved;
}

}  // namespace

trace::FileWriter* open_recorder() {
  return __atomic_load_n(&process.state, __ATOMIC_ACQUIRE) == State::kOpen ? &process.file : nullptr;
}

trace::FileWriter* recorder(Weight weight) {
  State state = __atomic_load_n(&process.state, __ATOMIC_ACQUIRE);
  if (__builtin_expect(state == State::kOpen && this_thread.registered, 1)) return &process.file;
  if (state == State::kOff || this_thread.busy) return nullptr;
  if (state == State::kUnopened) {
    if (weight == Weight::kFollows && !process.follows_parent) return nullptr;
    this_thread.busy = true;
    if (__atomic_compare_exchange_n(&process.state, &state, State::kOpening, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      open_file();
    this_thread.busy = false;
  }
  await_opening();
  trace::FileWriter* file = open_recorder();
  if (file) register_thread();
  return file;
}

void start_child() {
  State state = __atomic_load_n(&process.state, __ATOMIC_ACQUIRE);
  if (state == State::kOff) return;
  process.follows_parent = process.follows_parent || state == State::kOpen;
  process.file.abandon();
  process.state = State::kUnopened;
  bool vendor = this_thread.vendor_thread;
  this_thread = ThreadState{};
  this_thread.vendor_thread = vendor;
}

void note_exit(int code) {
  trace::FileWriter* file = open_recorder();
  if (!file) return;
  file->header().exit_code = code;
  file->header().ended = 1;
  file->mark_clock();
}

}  // namespace ddpscope::injector
