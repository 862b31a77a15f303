// The best of three readings counts: a thread may lose its processor between two clocks.
#include "injector/device_times/cupti_clock.h"

#include "injector/device_times/cupti_library.h"

namespace ddpscope::injector {

CuptiClock::Reading CuptiClock::read_once(const trace::FileWriter& file) const {
  Reading reading{};
  std::uint64_t begin_ns = trace::monotonic_ns();
  std::uint64_t begin = trace::read_ticks(file.clock().kind);
  cupti()->timestamp(&reading.ns);
  std::uint64_t end = trace::read_ticks(file.clock().kind);
  reading.ticks = begin + (end - begin) / 2;
  reading.error_ns = (trace::monotonic_ns() - begin_ns + 1) / 2;
  return reading;
}

void CuptiClock::read(trace::FileWriter& file) {
  constexpr int kTries = 3;
  Reading best = read_once(file);
  for (int i = 1; i < kTries; ++i)
    if (Reading again = read_once(file); again.error_ns < best.error_ns) best = again;
  before_ = latest_;
  latest_ = best;
  // A rate over less than a tenth of a second would be a matter of luck.
  constexpr std::uint64_t kLongEnough = 100'000'000;
  if (before_.ns && latest_.ns > before_.ns + kLongEnough) {
    rate_ = static_cast<double>(latest_.ticks - before_.ticks) / static_cast<double>(latest_.ns - before_.ns);
  } else if (rate_ == 0) {
    trace::ClockTuple now = file.clock().now(), opened = file.header().opened;
    rate_ = static_cast<double>(now.ticks - opened.ticks) /
            static_cast<double>(now.monotonic_ns - opened.monotonic_ns + 1);
  }
}

std::uint64_t CuptiClock::ticks(std::uint64_t ns) const {
  auto distance = static_cast<double>(static_cast<std::int64_t>(ns - latest_.ns));
  return latest_.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance * rate_));
}

}  // namespace ddpscope::injector
