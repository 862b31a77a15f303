// Parsing of STANDIN_LINK.
#include "standin/nccl/link_model.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

using Unit = std::pair<std::string_view, double>;
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kRates[] = {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}};

/// A non-negative number followed by exactly one of the units.
template <std::size_t N>
std::optional<double> parse_quantity(std::string_view text, const Unit (&units)[N]) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, factor] : units) {
    if (unit == name) return number * factor;
  }
  return std::nullopt;
}

}  // namespace

std::chrono::nanoseconds LinkModel::duration(std::size_t moved_bytes) const {
  const double transfer_ns =
      bytes_per_second > 0 ? 1e9 * static_cast<double>(moved_bytes) / bytes_per_second : 0;
  return latency + std::chrono::nanoseconds(static_cast<std::int64_t>(transfer_ns));
}

std::optional<LinkModel> parse_link_model(std::string_view text) {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto latency_ns = parse_quantity(text.substr(0, comma), kTimes);
  const auto bandwidth = parse_quantity(text.substr(comma + 1), kRates);
  if (!latency_ns || !bandwidth || *bandwidth == 0) return std::nullopt;
  return LinkModel{std::chrono::nanoseconds(static_cast<std::int64_t>(*latency_ns)), *bandwidth};
}

const LinkModel& link_model() {
  static const LinkModel model = [] {
    const char* text = std::getenv("STANDIN_LINK");
    if (!text) return LinkModel{};
    if (const auto parsed = parse_link_model(text)) return *parsed;
    throw Failure(
        ncclInvalidArgument,
        std::string("STANDIN_LINK is latency and bandwidth, as in 20us,1GB/s; cannot read \"") + text + "\"");
  }();
  return model;
}

}  // namespace ddpscope::standin::nccl
