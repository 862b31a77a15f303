// The link between the ranks, as the environment describes it, so that communication costs what it would
// cost.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace ddpscope::standin::nccl {

/// An operation lasts at least latency + moved bytes / bandwidth from when the last rank joined it.
struct LinkModel {
  std::chrono::nanoseconds latency{0};
  double bytes_per_second = 0;  ///< 0: without limit

  std::chrono::nanoseconds duration(std::size_t moved_bytes) const;
};

/// "LATENCY,BANDWIDTH": a number and a unit each, ns us ms s and B/s KB/s MB/s GB/s (powers of 1000), as in
/// "20us,1GB/s". Nothing if that is not what the text says.
std::optional<LinkModel> parse_link_model(std::string_view text);

/// STANDIN_LINK, read once; without it an operation lasts as long as it takes. Throws Failure
/// (ncclInvalidArgument) if the text cannot be read.
const LinkModel& link_model();

}  // namespace ddpscope::standin::nccl
