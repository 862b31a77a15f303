// Times, durations and amounts as a person reads them, and the ruler's ticks.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "viewer/view/time_view.h"

namespace ddpscope::viewer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;

// Above ten seconds steps follow the clock's face.
constexpr std::array<std::int64_t, 13> kLongSteps = {
    10 * kSecond, 15 * kSecond, 30 * kSecond, kMinute,   2 * kMinute, 5 * kMinute, 10 * kMinute,
    15 * kMinute, 30 * kMinute, kHour,        2 * kHour, 6 * kHour,   24 * kHour};

std::int64_t round_step(double least_ns) {
  for (std::int64_t step = 1; step < 10 * kSecond; step *= 10)
    for (int times : {1, 2, 5})
      if (step * times >= least_ns && step * times < 10 * kSecond) return step * times;
  for (std::int64_t step : kLongSteps)
    if (step >= least_ns) return step;
  return static_cast<std::int64_t>(std::ceil(least_ns / (24.0 * kHour))) * 24 * kHour;
}

int minor_parts(std::int64_t step) {
  std::int64_t lead = step;
  while (lead >= 10 && lead % 10 == 0) lead /= 10;
  if (step < 5) return 1;
  if (step >= 10 * kSecond) return step % (15 * kSecond) == 0 ? 3 : 5;
  return lead == 2 ? 4 : 5;
}

int digits_for(std::int64_t resolution_ns, std::int64_t unit_ns) {
  int digits = 0;
  for (std::int64_t part = unit_ns; part > resolution_ns && digits < 9; part /= 10) ++digits;
  return digits;
}

std::string three_digits(double value) {
  double size = std::abs(value);
  return size < 9.995   ? fmt::format("{:.2f}", value)
         : size < 99.95 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.0f}", value);
}

}  // namespace

std::string time_text(std::int64_t t_ns, std::int64_t resolution_ns) {
  const char* sign = t_ns < 0 ? "-" : "";
  std::int64_t t = std::abs(t_ns);
  if (resolution_ns >= 10 * kSecond)
    return fmt::format("{}{}:{:02}:{:02}", sign, t / kHour, t / kMinute % 60, t / kSecond % 60);
  return fmt::format("{}{:.{}f} s", sign, static_cast<double>(t) / kSecond,
                     digits_for(resolution_ns, kSecond));
}

std::string duration_text(std::int64_t ns) {
  if (ns < 0) return "-" + duration_text(-ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 999'500) return three_digits(ns / 1e3) + " µs";
  if (ns < 999'500'000) return three_digits(ns / 1e6) + " ms";
  if (ns < 2 * kMinute) return three_digits(ns / 1e9) + " s";
  if (ns < 2 * kHour) return fmt::format("{} min {} s", ns / kMinute, ns / kSecond % 60);
  return fmt::format("{} h {} min", ns / kHour, ns / kMinute % 60);
}

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{}{}", word, count == 1 ? "" : "s");
}

std::string count_text(std::uint64_t count) {
  if (count < 10'000) return fmt::format("{}", count);
  if (count < 999'500) return three_digits(count / 1e3) + " k";
  if (count < 999'500'000) return three_digits(count / 1e6) + " M";
  return three_digits(count / 1e9) + " G";
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 999'500) return three_digits(bytes / 1e3) + " kB";
  if (bytes < 999'500'000) return three_digits(bytes / 1e6) + " MB";
  return three_digits(bytes / 1e9) + " GB";
}

std::vector<Tick> ruler_ticks(const TimeView& view, float label_px) {
  std::int64_t step = round_step(view.ns_per_px() * label_px);
  std::int64_t minor = step / minor_parts(step);
  std::int64_t first = view.shown.from_ns / minor * minor;
  if (first < view.shown.from_ns) first += minor;
  std::vector<Tick> ticks;
  for (std::int64_t t = first; t <= view.shown.to_ns; t += minor) {
    bool major = t % step == 0;
    ticks.push_back({t, major, major ? time_text(t, step) : std::string()});
  }
  return ticks;
}

}  // namespace ddpscope::viewer
