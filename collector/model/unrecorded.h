// Processes that could not make their trace file: no descriptor, no room, a limit on the size of files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ddpscope::model {

struct Unrecorded {
  std::string host;
  std::uint64_t start_time;  // as in trace::Identity
  std::int32_t pid;
  std::int32_t error;  // number
  std::string run;     // its DDPSCOPE_RUN; "0" without one
  auto operator<=>(const Unrecorded&) const = default;
};

// By error: "2 processes could not make a trace file: Too many open files (node1:17, node1:18)".
std::vector<std::string> to_sentences(const std::vector<Unrecorded>& unrecorded);

}  // namespace ddpscope::model
