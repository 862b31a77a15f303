// One sample that several ranks read, and the readings of it that show that best: all of one pass, at about
// the same time.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "collector/detectors/sample_orders.h"

namespace ddpscope::detectors {

// A rank's reading of a sample, of which there is a record.
struct Reading {
  Sample sample;
  std::uint32_t pass;  // how often the rank had read this sample before
  std::int64_t at_ns;
  model::EventRef read;
};

// One of each rank, 0 ... ranks - 1; none if there is no sample of which each has a record. `reads_of` is
// asked twice for each rank, so that only one's reading is in memory at a time.
std::vector<Reading> find_common_reading(std::size_t ranks,
                                         const std::function<patterns::TrainingReads(std::size_t)>& reads_of);

}  // namespace ddpscope::detectors
