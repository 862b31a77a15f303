// Where ranks that ought to make the same calls part, as calls of theirs show it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

struct NextCall {
  model::EventRef event;
  std::int64_t begin_ns;
  std::string action;  // what the rank runs: "a barrier"
  std::string kind;    // calls of one kind may be taken for each other
  std::string detail;  // for evidence
};

struct Parting {
  std::map<std::int32_t, std::optional<NextCall>> calls;  // by rank; nothing if it makes no more
  std::set<std::int32_t> odd;
  findings::Place place;
};

// Of NCCL: divergences of a communicator that do harm, and ranks that come no more while others wait for
// them. By time: what comes later in the same stretch follows from the first.
std::vector<Parting> find_partings(const Facts& facts);

}  // namespace ddpscope::detectors
