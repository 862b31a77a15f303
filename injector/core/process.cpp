// Opens the trace at the first event of weight; starts anew in forked children.
#include "injector/core/process.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "injector/core/bus_errors.h"
#include "injector/core/rank.h"
#include "injector/core/settings.h"
#include "injector/device_times/timing.h"
#include "injector/files/passed_looks.h"
#include "injector/python/interpreter.h"
#include "injector/threads/releases.h"
#include "injector/threads/thread_life.h"
#include "trace/write/identity.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {

constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

constinit Recording recording{};

namespace {

using State = RecordingState;

struct Process {
  bool follows_parent;  // the parent was recorded: any event opens this one
  pthread_key_t thread_end;
  char directory[trace::kMaxPath];
  std::uint64_t ring_bytes;
  char run[33];  // DDPSCOPE_RUN as far as it is letters and digits; "0" without one
  bool digests_copies;
};
Process process;
std::uint32_t always = 1;  // where no page tells a copy

struct OpeningOfFile {
  std::int32_t by;       // the thread that opens it; 0: none yet
  bool never_ends;       // a thread has waited for it in vain
  bool refused;          // there is no room for a file, or no descriptor: a child may have them
  std::uint32_t missed;  // events that did not wait
};
OpeningOfFile opening;  // __atomic

// Page that the kernel clears in children that do not share the memory (Linux 4.14).
std::uint32_t* make_same_process() {
  constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK
  long page = trace::raw_syscall(SYS_mmap, 0, trace::kPageBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -4096) return &always;
  if (trace::raw_syscall(SYS_madvise, page, trace::kPageBytes, kWipeOnFork) != 0) return &always;
  auto* flag = reinterpret_cast<std::uint32_t*>(page);
  *flag = 1;
  return flag;
}

// Before glibc 2.34 a process without threads may be without these.
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

// Other libraries' thread-end functions may still make calls: ours runs in the last round that POSIX
// promises.
void end_thread(void* round) {
  auto number = reinterpret_cast<std::uintptr_t>(round);
  if (number < PTHREAD_DESTRUCTOR_ITERATIONS &&
      pthread_setspecific(process.thread_end, reinterpret_cast<void*>(number + 1)) == 0)
    return;
  this_thread.ended = true;
  this_thread.registered = false;
  note_thread_end();
  if (trace::FileWriter* file = open_recorder()) this_thread.writer.leave(*file);
}

bool note_ends_of_threads() {
  return !pthread_key_create || pthread_key_create(&process.thread_end, end_thread) == 0;
}

// The guest may change its directory before the file is opened, and later for every chunk.
bool set_directory(const char* directory) {
  char* out = process.directory;
  std::size_t room = sizeof(process.directory);
  if (*directory != '/') {
    long bytes = trace::raw_syscall(SYS_getcwd, trace::as_argument(out), static_cast<long>(room));
    if (bytes <= 0) return false;
    out += bytes - 1;
    *out++ = '/';
    room -= static_cast<std::size_t>(bytes);
  }
  if (strlen(directory) >= room) return false;
  strcpy(out, directory);
  return true;
}

void set_run(const char* run) {
  auto in = [](char c, char first, char last) { return c >= first && c <= last; };
  auto fits = [&](char c) { return in(c, '0', '9') || in(c, 'a', 'z') || in(c, 'A', 'Z'); };
  std::size_t i = 0;
  for (; run && fits(run[i]) && i + 1 < sizeof(process.run); ++i) process.run[i] = run[i];
  if (i == 0) process.run[i++] = '0';
  process.run[i] = 0;
}

// secure_getenv: a program with more rights than its caller writes nothing where the caller says.
bool read_settings() {
  const char* disable = getenv("DDPSCOPE_DISABLE");
  if (disable && *disable && strcmp(disable, "0") != 0) return false;
  const char* directory = secure_getenv("DDPSCOPE_TRACE");
  if (!directory || !*directory || !set_directory(directory)) return false;
  const char* ring = getenv("DDPSCOPE_RING");
  process.ring_bytes = ring ? strtoull(ring, nullptr, 10) : 0;
  if (!process.ring_bytes) process.ring_bytes = trace::kDefaultRingBytes;
  const char* digests = getenv("DDPSCOPE_COPY_DIGESTS");
  process.digests_copies = !digests || strcmp(digests, "0") != 0;
  set_run(getenv("DDPSCOPE_RUN"));
  read_rank_variables();
  return true;
}

// At the first call: another library's constructor may make it before ours runs, or an allocator while it
// serves the first malloc. So nothing here allocates or looks up a symbol: libc allocates the text of a
// failed look-up. Without an environment libc has not begun either: that call passes by.
void load() {
  if (recording.state != State::kUnloaded || !environ) return;
  int saved = errno;
  recording.same_process = make_same_process();
  bool on = read_settings() && note_ends_of_threads();
  recording.state = on ? State::kUnopened : State::kOff;
  errno = saved;
}

// What may allocate waits for our own constructor, which no allocator calls. The environment has been read by
// then, before the guest can change or clear it.
__attribute__((constructor(101))) void start() {
  int saved = errno;
  load();
  python::find_interpreter();
  if (may_record()) pthread_atfork(nullptr, nullptr, start_child);
  errno = saved;
}

__attribute__((destructor)) void unload() {
  if (trace::FileWriter* file = open_recorder()) file->mark_clock();
}

void open_file() {
  if (recording.state == State::kOpening) {  // half of it was done before
    recording.file.abandon();
    this_thread.writer = {};
  }
  __atomic_store_n(&recording.state, State::kOpening, __ATOMIC_RELEASE);
  trace::Identity identity = trace::read_identity();
  // The child of vfork() has another pid and yet writes what its parent, whose memory it borrows, will go on
  // from: pids are asked only where nothing better tells a copy.
  bool check_pid = recording.same_process == &always;
  bool opened =
      recording.file.open(process.directory, identity, trace::host_clock(), process.ring_bytes, check_pid);
  if (opened) {
    survive_lost_pages();
    write_passed_looks(recording.file);
    write_settings(recording.file);
  } else {
    trace::mark_unrecorded(process.directory, identity, recording.file.refusal(), process.run);
    opening.refused = true;
  }
  __atomic_store_n(&recording.state, opened ? State::kOpen : State::kOff, __ATOMIC_RELEASE);
  trace::raw_syscall(SYS_futex, trace::as_argument(&recording.state), FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool is_being_opened() {
  State state = __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE);
  return state == State::kUnopened || state == State::kOpening;
}

bool has_ended(std::int32_t thread) {
  return trace::raw_syscall(SYS_tgkill, trace::raw_syscall(SYS_getpid), thread, 0) == -ESRCH;
}

// Whether the file is this thread's to open: no thread does, or the one that did cannot finish. A jump out of
// a signal handler left its opening if it comes here anew, and a thread may end after such a jump.
bool claim_opening() {
  auto own = static_cast<std::int32_t>(trace::raw_syscall(SYS_gettid));
  std::int32_t by = __atomic_load_n(&opening.by, __ATOMIC_ACQUIRE);
  bool claimed = by == own || ((by == 0 || has_ended(by)) &&
                               __atomic_compare_exchange_n(&opening.by, &by, own, false, __ATOMIC_ACQ_REL,
                                                           __ATOMIC_ACQUIRE));
  return claimed && is_being_opened();
}

// Opens the file, or waits for the thread that does (under a millisecond, if nothing else wants its
// processor): this one's event may be half of what orders two ranks, the accept to another process's connect.
// The wait has an end: the other thread may have left the opening for ever, or wait for this one.
void open_or_await() {
  constexpr int kMostWaits = 50;
  constexpr timespec kWait{0, 100'000'000};
  for (int waits = 0; is_being_opened(); ++waits) {
    {
      OwnWork work(&recording.file);
      if (claim_opening()) return open_file();
    }
    if (waits == kMostWaits) __atomic_store_n(&opening.never_ends, true, __ATOMIC_RELAXED);
    if (__atomic_load_n(&opening.never_ends, __ATOMIC_RELAXED)) {
      __atomic_fetch_add(&opening.missed, 1, __ATOMIC_RELAXED);
      return;
    }
    trace::raw_syscall(SYS_futex, trace::as_argument(&recording.state), FUTEX_WAIT_PRIVATE,
                       static_cast<long>(State::kOpening), trace::as_argument(&kWait));
  }
}

void register_thread() {
  if (this_thread.registered) return;
  this_thread.registered = true;
  int saved = errno;
  if (pthread_setspecific)
    pthread_setspecific(process.thread_end, reinterpret_cast<void*>(std::uintptr_t{1}));
  errno = saved;
}

}  // namespace

bool may_record() {
  if (recording.state == State::kUnloaded) load();
  return recording.state != State::kOff;
}

bool digests_copies() { return process.digests_copies; }

trace::FileWriter* open_recorder_for(Weight weight) {
  State state = __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE);
  if (state == State::kUnloaded) load();
  if (!recording.same_process) return nullptr;
  if (!*recording.same_process) start_child();
  state = __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE);
  if (state == State::kOff || inside_own_work(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))) ||
      this_thread.ended)
    return nullptr;
  if (state == State::kUnopened && weight == Weight::kFollows && !process.follows_parent) return nullptr;
  open_or_await();
  trace::FileWriter* file = open_recorder();
  if (!file) return nullptr;
  if (std::uint32_t missed = __atomic_exchange_n(&opening.missed, 0, __ATOMIC_RELAXED))
    file->count(trace::Health::kept_records_lost, missed);
  register_thread();
  return file;
}

// A longjmp out of the handler runs no destructor: the work would count as interrupted for ever. Its frame is
// still there if the handler's lies below, and nothing has overwritten its number since. On a stack of the
// handler's own no address says so.
bool interrupts(const OwnWork& work, std::uintptr_t here) {
  stack_t stack{};
  trace::raw_syscall(SYS_sigaltstack, 0, trace::as_argument(&stack));
  if (stack.ss_flags & SS_ONSTACK) return true;
  return here < work.place() && work.number_ == work.expected();
}

void start_child() {
  State state = __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE);
  if (state == State::kUnloaded) return;
  *recording.same_process = 1;
  if (state == State::kOff && !opening.refused) return;
  process.follows_parent = process.follows_parent || state == State::kOpen;
  recording.file.abandon();
  forget_all_releases();
  forget_device_times();
  forget_passed_looks();
  recording.state = State::kUnopened;
  opening = {};
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
