// The guest's process: whether it is recorded, and where.
#pragma once
#include "injector/core/thread_state.h"
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// What an event says about its process. Launchers, shells and compilers make neither collectives nor
// connections nor written files worth a trace: a process gets a file at its first kOpens event; kFollows
// events before that pass by.
enum class Weight { kOpens, kFollows };

// What every hook asks lies open here: the answer has to cost it a few instructions and no call.
enum class RecordingState : int { kUnloaded, kUnopened, kOpening, kOpen, kOff };
struct Recording {
  trace::FileWriter file;
  RecordingState state{};         // __atomic
  std::uint32_t* same_process{};  // 0 in a copy of the process, however it was made: clone() calls no handler
};
extern Recording recording;

// The file if it is open already and this process's own: a copy that clone() made has none yet.
inline trace::FileWriter* open_recorder() {
  bool open = __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE) == RecordingState::kOpen;
  return open && *recording.same_process ? &recording.file : nullptr;
}

// The file to record to, opened at the first event that weighs enough; nullptr: not recorded (disabled by
// DDPSCOPE_DISABLE=1, no DDPSCOPE_TRACE, nothing of weight yet, or the folder cannot be written).
trace::FileWriter* open_recorder_for(Weight weight);
inline trace::FileWriter* recorder(Weight weight) {
  trace::FileWriter* file = open_recorder();
  return __builtin_expect(file && this_thread.registered, 1) ? file : open_recorder_for(weight);
}

// It may be recorded, but nothing of weight has happened yet.
inline bool awaits_weight() {
  return __atomic_load_n(&recording.state, __ATOMIC_ACQUIRE) == RecordingState::kUnopened;
}

// False: this process will never be recorded.
bool may_record();

// Whether what copies bring to the device is digested: DDPSCOPE_COPY_DIGESTS is not 0.
bool digests_copies();

// The epoch of the open file: a record of another one is not ours to touch (its process is our parent's).
inline std::uint32_t open_epoch() {
  trace::FileWriter* file = open_recorder();
  return file ? file->epoch() : ~std::uint32_t{0};
}

// Before the child of fork() returns to the guest: a process of its own, whose file opens at its first event.
void start_child();

// An exit path was reached: the header says so.
void note_exit(int code);

// Whether what lies `here` on the stack belongs to a signal handler of the guest that has interrupted the
// injector's own work in this thread.
bool interrupts(const OwnWork& work, std::uintptr_t here);
inline bool inside_own_work(std::uintptr_t here) {
  const OwnWork* work = this_thread.own_work;
  return __builtin_expect(work != nullptr, 0) && interrupts(*work, here);
}

// Lies in the frame of the injector's own work and marks it; false (counted) for a signal handler's call in
// the middle of it: the caller must only pass by. It never spans guest code or a real call.
class OwnWork {
 public:
  explicit OwnWork(trace::FileWriter* file) : entered_(file && !inside_own_work(place())) {
    number_ = expected();
    if (entered_)
      set(this);
    else if (file)
      file->count(trace::Health::reentrant_calls);
  }
  ~OwnWork() {
    if (entered_) set(nullptr);
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  std::uintptr_t place() const { return reinterpret_cast<std::uintptr_t>(this); }
  std::uint64_t expected() const { return place() * 0x9E3779B97F4A7C15u; }  // while it lies there

  // The compiler must not move our work out of the marked stretch: a signal handler would see it unmarked.
  static void set(const OwnWork* work) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    this_thread.own_work = work;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }

  friend bool interrupts(const OwnWork& work, std::uintptr_t here);
  bool entered_;
  volatile std::uint64_t number_;
};

// For a record's begin or end.
inline std::uint64_t now(const trace::FileWriter& file) {
  return this_thread.position = trace::read_ticks(file.clock().kind);
}

}  // namespace ddpscope::injector
