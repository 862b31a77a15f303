// Pairs of readings vote for the rate; readings vote for each other.
#include "trace/read/clock_readings.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::trace {
namespace {

// 100 MHz to 10 GHz.
constexpr double kFastestTick = 0.1, kSlowestTick = 10.0;  // ns
constexpr double kTolerance = 0.01;                        // of a rate that was measured or is stated
constexpr double kSlackNs = 1e9;
constexpr double kDayNs = 86'400e9;

// As a signed number, whatever the two are.
double distance(std::uint64_t from, std::uint64_t to) {
  return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

std::vector<ClockTuple> spread_out(const std::vector<ClockTuple>& readings) {
  constexpr std::size_t kMost = 16;  // pairs are compared with pairs
  std::vector<ClockTuple> sample;
  std::size_t step = (readings.size() + kMost - 1) / kMost;
  for (std::size_t i = 0; i < readings.size(); i += step) sample.push_back(readings[i]);
  return sample;
}

// The rate that most pairs of readings agree on; 0: none lie far enough apart to tell.
double find_rate(const std::vector<ClockTuple>& sample) {
  constexpr double kFarApartNs = 1e7;
  std::vector<double> rates;
  for (std::size_t i = 0; i < sample.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double ns = distance(sample[j].monotonic_ns, sample[i].monotonic_ns);
      double rate = ns / distance(sample[j].ticks, sample[i].ticks);
      if (std::abs(ns) >= kFarApartNs && rate >= kFastestTick && rate <= kSlowestTick) rates.push_back(rate);
    }
  double best = 0;
  std::ptrdiff_t most = 1;  // one pair alone says nothing
  for (double rate : rates) {
    auto votes = std::count_if(rates.begin(), rates.end(),
                               [rate](double other) { return std::abs(other - rate) <= kTolerance * rate; });
    if (votes > most) best = rate, most = votes;
  }
  return best;
}

}  // namespace

ClockReadings::ClockReadings(ClockKind kind, std::uint64_t tick_hz, const std::vector<ClockTuple>& readings)
    : slowest_(kSlowestTick), fastest_(kFastestTick), sample_(spread_out(readings)) {
  double rate = kind == ClockKind::kMonotonicNs ? 1.0 : find_rate(sample_);
  if (rate == 0 && tick_hz) rate = std::clamp(1e9 / static_cast<double>(tick_hz), kFastestTick, kSlowestTick);
  if (rate == 0) return;
  slowest_ = rate * (1 + kTolerance);
  fastest_ = rate * (1 - kTolerance);
}

bool ClockReadings::agree(const ClockTuple& a, const ClockTuple& b) const {
  double ticks = distance(a.ticks, b.ticks), ns = distance(a.monotonic_ns, b.monotonic_ns);
  auto [least, most] = std::minmax({ticks * fastest_, ticks * slowest_});
  double wall_ns = distance(a.realtime_ns, b.realtime_ns);
  return ns >= least - kSlackNs && ns <= most + kSlackNs && std::abs(wall_ns - ns) <= kDayNs;
}

bool ClockReadings::sound(const ClockTuple& reading) const {
  auto support = std::count_if(sample_.begin(), sample_.end(),
                               [&](const ClockTuple& other) { return agree(reading, other); });
  return 2 * static_cast<std::size_t>(support) > sample_.size();
}

double ClockReadings::ticks_of(double seconds) const { return seconds * 1e9 / fastest_; }

}  // namespace ddpscope::trace
