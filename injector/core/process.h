// The guest's process: whether it is recorded, and where.
#pragma once
#include "injector/core/thread_state.h"
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// What an event says about its process. Launchers, shells and compilers make neither collectives nor
// connections nor written files worth a trace: a process gets a file at its first kOpens event; kFollows
// events before that pass by.
enum class Weight { kOpens, kFollows };

// The file to record to, opened at the first event that weighs enough; nullptr: not recorded (disabled by
// DDPSCOPE_DISABLE=1, no DDPSCOPE_TRACE, nothing of weight yet, or the folder cannot be written).
trace::FileWriter* recorder(Weight weight);

// The file if it is open already and this process's own: a copy that clone() made has none yet.
trace::FileWriter* open_recorder();

// False: this process will never be recorded.
bool may_record();

// The epoch of the open file: a record of another one is not ours to touch (its process is our parent's).
inline std::uint32_t open_epoch() {
  trace::FileWriter* file = open_recorder();
  return file ? file->epoch() : ~std::uint32_t{0};
}

// Before the child of fork() returns to the guest: a process of its own, whose file opens at its first event.
void start_child();

// An exit path was reached: the header says so.
void note_exit(int code);

// Sets this_thread.busy for the injector's own work; false (counted) if it is set: the caller must only pass
// by.
class OwnWork {
 public:
  explicit OwnWork(trace::FileWriter* file) : entered_(file && !this_thread.busy) {
    if (entered_)
      set(true);
    else if (file)
      file->count(trace::Health::reentrant_calls);
  }
  ~OwnWork() {
    if (entered_) set(false);
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  // The compiler must not move our work out of the marked stretch: a signal handler would see it unmarked.
  static void set(bool busy) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    this_thread.busy = busy;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }

  bool entered_;
};

inline std::uint64_t now(const trace::FileWriter& file) { return trace::read_ticks(file.clock().kind); }

}  // namespace ddpscope::injector
