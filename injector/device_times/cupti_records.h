// What CUPTI tells, as device work: linked to the call that enqueued it by external correlation.
#pragma once
#include <cstddef>
#include <cstdint>

#include "injector/device_times/cupti_clock.h"
#include "trace/device_work.h"

namespace ddpscope::injector {

// An external correlation id: the calling thread, and when its record begins (call_time() of device_work.h).
constexpr std::uint64_t link_of(std::uint16_t thread, std::uint32_t call_time) {
  return std::uint64_t{thread} << 32 | call_time;
}

// Reads the completed buffers, one after the other; in static storage.
class CuptiRecords {
 public:
  // All records of a buffer. What cannot be linked yet is kept back: its call may stand in a buffer to come.
  void take(trace::FileWriter& file, std::uint8_t* buffer, std::size_t bytes);
  // Once a flush: what has waited since the last one is written down without its call.
  void settle(trace::FileWriter& file);

  CuptiClock clock;

 private:
  struct Link {
    std::uint32_t correlation;
    std::uint32_t unused;
    std::uint64_t id;
  };
  struct Waiting {
    std::uint32_t correlation;
    std::uint32_t flushes;
    bool kept;
    trace::DeviceWork work;
  };
  struct Timed;
  static constexpr std::uint32_t kLinks = 1 << 16, kWaiting = 4096;

  void take_one(trace::FileWriter& file, const void* record);
  void take_timed(trace::FileWriter& file, const Timed& timed);
  bool link(std::uint32_t correlation, trace::DeviceWork& work) const;

  Link links_[kLinks];  // by the low bits of their correlation id: later ones take the place of earlier ones
  Waiting waiting_[kWaiting];
  std::uint32_t waits_;
};

}  // namespace ddpscope::injector
