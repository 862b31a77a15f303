// Where the main threads of a job's processes are, seen from outside and kept in the trace: a thread that
// sleeps, computes or waits for another one leaves no record of that, and when the job is over nobody can ask
// any more.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "trace/write/clock.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::commands {

// Looks once a second, less often where that takes long: at most a hundredth of a processor, but every ten
// seconds at least. Reads /proc only, and writes a trace file of this process, of `thread_seen` records and
// `processor_wait`, as it goes: killed with the job, it leaves what it saw. What was seen at one look alone
// is not kept, of each process at most the 64 latest places. How long each process waited for processors is
// one record, prolonged at each look. Without room for the file, nothing is.
class ThreadWatch {
 public:
  explicit ThreadWatch(std::filesystem::path folder);
  ~ThreadWatch();  // waits for a look
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  void meet(std::int32_t pid, std::uint64_t start_time);  // looks at it from now on, until it ends
  void stop();                                            // waits for a look

 private:
  struct Look {
    std::uint64_t ticks = 0;
    std::chrono::steady_clock::time_point at{};
    std::int64_t cpu_ns = 0;  // that it had used
    std::uint64_t moved = 0;  // bytes, by its main thread
  };
  struct Watched {
    std::int32_t pid;
    std::uint64_t start_time;
    std::string inside{};   // as in the record
    Look first{}, last{};   // that saw it there, as idle or busy; ticks 0: none yet
    bool computes = false;  // between the last two looks that saw it there: for more than half of the time
    std::uint32_t looks = 0;
    std::uint32_t running = 0;
    std::vector<trace::OpenRecord> records{};  // of places where it was before, and is
    std::size_t next = 0;                      // of them, to be taken for the next place
    trace::OpenRecord now{};                   // of the place where it is; none yet at the first look
    // For a processor, of its threads: those that have ended count as far as they were seen.
    std::map<std::int32_t, std::uint64_t> waited{};
    std::uint64_t waited_before = 0, waits_from = 0;  // at the first look, and when that was (ticks)
    std::uint32_t waits_looks = 0;
    trace::OpenRecord waits{};
  };
  void watch(const std::stop_token& stop);
  bool look_at(Watched& process, std::uint64_t now);
  static void begin(Watched& process, const Look& look);
  void write(Watched& process, std::int64_t cpu_ns, std::uint64_t now);
  void look_at_waits(Watched& process, std::uint64_t now);
  bool has_file();

  std::filesystem::path folder_;
  trace::Clock clock_;
  std::mutex mutex_;  // of met_
  std::vector<Watched> met_;
  std::vector<Watched> watched_;
  std::unique_ptr<trace::FileWriter> file_;
  bool failed_ = false;
  trace::ThreadWriter writer_{};
  std::jthread thread_;
};

}  // namespace ddpscope::commands
