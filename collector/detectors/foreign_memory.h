// Memory that a rank holds, while it trains, on a GPU that is another rank's and not its own.
#pragma once
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/patterns/device_use.h"

namespace ddpscope::detectors {

struct ForeignMemory {
  std::int32_t rank;  // that holds it, itself or by a worker
  patterns::Gpu gpu;
  std::vector<std::int32_t> owners;  // whose GPU it is, ascending
  model::EventRef first;             // allocation of what it holds
  std::uint64_t bytes = 0;           // at most, at a time at which it trains
  std::size_t allocations = 0;       // of these bytes
  std::int64_t from_ns, to_ns;
  bool exhausted = false;  // an allocation on that GPU failed meanwhile
  bool certain = true;     // that it was not given back: the ring may have overwritten that
};

// By process. Held is what is there when its rank reduces, or when memory on that GPU ran out; memory that is
// obtained and given back in between only passes through.
std::vector<ForeignMemory> find_foreign_memory(const Facts& facts, const patterns::DeviceUse& use);

}  // namespace ddpscope::detectors
