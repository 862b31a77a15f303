// Tells a collective that a rank makes on its own from the one that follows a barrier which it left out.
#pragma once
#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

// Whether `call` is one that its rank makes on its way to `barrier`, at which its peers wait: the
// communicator has seen no call from that place in the code, and in the function that leads to both it stands
// before the barrier. A rank that left the barrier out would go on behind it, or around a loop to a call that
// was made before. False where stacks do not tell.
bool is_made_before_barrier(const Facts& facts, std::uint32_t call, std::uint32_t barrier);

}  // namespace ddpscope::detectors
