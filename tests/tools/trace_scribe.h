// Writes one process's trace file through the writing half of trace/, with an identity and times of one's
// own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/result.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::tests {

// A host's clocks, as they differ from the true time in which tests are written.
struct HostClock {
  std::int64_t monotonic_offset_ns = 0;
  double drift_ppm = 0;                 // its monotonic clock runs fast by so much
  std::int64_t realtime_offset_ns = 0;  // error of its wall clock

  std::uint64_t ticks(std::int64_t time_ns) const;  // one a nanosecond
  trace::ClockTuple tuple(std::int64_t time_ns) const;
};

struct ScribeIdentity {
  std::string host;
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::int64_t start_ns = 0;         // when the process began
  std::int64_t parent_start_ns = 0;  // likewise
  std::int64_t opened_ns = -1;       // when it began its file; less than 0: at its start
  HostClock clock;
  std::uint64_t ring_bytes = trace::kDefaultRingBytes;
  bool folds = false;  // collectives are written as regular calls

  std::int64_t began_ns() const { return opened_ns < 0 ? start_ns : opened_ns; }  // its file
};

// Makes the folder if it is missing. What is wrong, if it cannot be made or holds traces already.
std::optional<Error> prepare_folder(const std::filesystem::path& folder);

struct PythonFrame {
  std::string file;
  std::string function;
  std::uint32_t line;
};

// Times are ns of true time since the job's start. Records of a thread are written in the order of begin.
class TraceScribe {
 public:
  static Result<std::unique_ptr<TraceScribe>> create(const std::filesystem::path& folder,
                                                     const ScribeIdentity& identity);

  // A record; `end_ns` kInside leaves it open. False: no room for it.
  static constexpr std::int64_t kInside = -1;
  bool write(std::uint16_t thread, trace::Call call, const void* payload, std::int64_t begin_ns,
             std::int64_t end_ns, std::uint32_t stack = 0);
  template <trace::Call call>
  bool write(std::uint16_t thread, const trace::PayloadOf<call>& payload, std::int64_t begin_ns,
             std::int64_t end_ns, std::uint32_t stack = 0) {
    return write(thread, call, &payload, begin_ns, end_ns, stack);
  }
  bool write_item(std::uint16_t thread, const trace::ItemRead& item, std::int64_t time_ns);
  // Written by `thread` as if it had been told right after the end; begin and duration of `work` are set.
  bool write_device_work(std::uint16_t thread, trace::DeviceWork work, std::int64_t begin_ns,
                         std::int64_t end_ns);

  std::uint32_t intern(std::uint16_t thread, std::string_view text);
  std::uint32_t intern_stack(std::uint16_t thread, const std::vector<PythonFrame>& innermost_first);

  std::uint64_t ticks(std::int64_t time_ns) const { return clock_.ticks(time_ns); }
  trace::FileHeader& header() { return file_->header(); }
  void set_latest(std::int64_t time_ns) { header().latest = clock_.tuple(time_ns); }

 private:
  TraceScribe() = default;
  trace::ThreadWriter& thread(std::uint16_t number);

  std::unique_ptr<trace::FileWriter> file_;
  HostClock clock_;
  bool folds_ = false;
  std::vector<trace::ThreadWriter> threads_;  // [n - 1] is thread n
};

}  // namespace ddpscope::tests
