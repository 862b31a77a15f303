// CUPTI's times are nanoseconds of its own clock (of CLOCK_REALTIME as a rule, which may be set): both clocks
// are read together each second, and what lies between two readings is on the line through them.
#pragma once
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

class CuptiClock {
 public:
  void read(trace::FileWriter& file);           // by the flusher; the first one before anything is converted
  std::uint64_t ticks(std::uint64_t ns) const;  // of the host's clock
  std::uint64_t error_ns() const { return latest_.error_ns; }
  std::uint64_t latest_ticks() const { return latest_.ticks; }
  std::uint64_t latest_ns() const { return latest_.ns; }

 private:
  struct Reading {
    std::uint64_t ns, ticks, error_ns;
  };
  Reading read_once(const trace::FileWriter& file) const;

  Reading before_, latest_;
  double rate_;  // ticks a nanosecond
};

}  // namespace ddpscope::injector
