// Saves for which all other ranks stand still: their hosts wait in a collective that the saving rank begins
// only when its files are written.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/written_files.h"
#include "collector/matching/collectives.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/rounds.h"
#include "collector/patterns/savings.h"

namespace ddpscope::patterns {

constexpr std::int64_t kSlowSave =
    1'000'000'000;  // ns of standing still; shorter ones are none (design, section 2)

struct SlowSave {
  std::int32_t rank;  // who saves
  std::uint32_t process;
  Saving saving;                        // for saving.lost_ns of the time all others stood still
  std::int64_t waiting_from_ns;         // from here on they did
  std::uint32_t communicator, ordinal;  // of the collective in which they wait
  std::uint32_t member;                 // of the communicator: who saves
};

// What counts as a save: files written anew (savings.h) that are opened and closed between two rounds of the
// communicator, by the thread that then issues the collective or waits for it, with gradients reduced since
// the last save (the preparation of data is none), and no more kernels launched meanwhile than copies made
// (an evaluation that writes down what it finds is none). By at most half of the members: shards are written
// by all. Source of the thresholds: design, section 2.
std::vector<SlowSave> find_slow_saves(const model::Job& job, const matching::Collectives& collectives,
                                      const ordering::DeviceOrder& device_order, const Rounds& rounds,
                                      const std::vector<files::WrittenFile>& written);

}  // namespace ddpscope::patterns
