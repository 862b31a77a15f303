// What the two detectors of divergences share: who is odd, and the calls on either side as evidence.
#pragma once
#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"

namespace ddpscope::detectors {

struct Sides {
  std::vector<std::int32_t> odd;     // ranks at fault; all ranks if nothing tells who is
  std::vector<std::int32_t> others;  // the rest that was still making calls
};
Sides sides_of(const Facts& facts, const matching::Divergence& divergence);

// What the ranks met in before they parted, then the call at this place, a line a rank, the odd ones last.
std::vector<findings::Evidence> evidence_of(const Facts& facts, const matching::Divergence& divergence);

// From the last round before the divergence; to the end of the job if one of its calls never completed, or if
// it shifts all that follows.
findings::Place place_of(const Facts& facts, const matching::Divergence& divergence);

}  // namespace ddpscope::detectors
