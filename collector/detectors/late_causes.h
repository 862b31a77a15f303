// Why a rank is late: what it did, beyond what a rank did that was in time, while the others waited for it.
#pragma once
#include <cstdint>
#include <string>

#include "collector/detectors/detector.h"
#include "collector/patterns/late_ranks.h"

namespace ddpscope::detectors {

// The first three are those of patterns::Use. kUnknown: its host or its device, which does not show.
enum class LateCause : std::uint8_t { kInput, kFiles, kCompute, kHost, kUnknown };

struct LateStory {
  LateCause cause;
  std::int64_t late_ns, typical_ns;  // medians a turn of what the cause takes, of the late rank and the other
  model::EventRef longest;           // call of the example turn; its place is kNoCall if there is none
  std::size_t turn;                  // the example, in LateRanks::turns
  std::string place{};               // where in the program the longest call is in most turns; empty: unknown

  bool explained() const { return late_ns > 0; }  // by something that takes longer
};

// Compared are the same windows of the first late member and of the typical one, in at most 256 turns. What
// takes more of the late one's time by half of what is lost, and most of all, is the cause. Without any such
// its host's own time counts, from the end of the turn before until it has issued the turn's last collective
// (by hosts: the first), but for what it waits for its device: its host is late if that takes longer by half
// of what is lost, also where calls that may have waited for the device are taken for waits; its device if it
// takes longer by less than a quarter, also where these are not. Hosts are not compared by when they issue:
// one that waits for a slow device is late, and those that wait for its device, too.
LateStory explain_lateness(const Facts& facts, const patterns::LateRanks& late);

}  // namespace ddpscope::detectors
