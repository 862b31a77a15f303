// hung-collective, of a communicator or process group that is never made: ranks wait in ncclCommInitRank, or
// in init_process_group() and new_group() of PyTorch, for one that does not come.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/ordering/stuck_work.h"

namespace ddpscope::detectors {

// One that is not made: all that came still wait for the others.
struct OpenCreation {
  findings::Finding finding;                              // of hung-collective; ranks are those at fault
  std::map<std::int32_t, std::uint32_t> waiting, absent;  // processes by rank; absent: those that are known
  std::int64_t waited_ns = 0, needed_ns = 0;
};

// Whether or not they wait for long.
std::vector<OpenCreation> find_open_creations(const CallFacts& facts, const ordering::StuckWork& stuck);

// Of those the ones that count. The processes that wait in what was found.
std::set<std::uint32_t> detect_hung_creation(const CallFacts& facts, const ordering::StuckWork& stuck,
                                             findings::Outcome& outcome);

}  // namespace ddpscope::detectors
