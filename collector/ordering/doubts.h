// Why a pair is unjudged: what may order the two, but shows in no call.
#pragma once
#include <string>

#include "collector/ordering/happens_before.h"

namespace ddpscope::ordering {

// In words, of a pair of which HappensBefore says so. Of several ways that may order the two, the one of
// which most was seen.
std::string doubt_between(const model::Job& job, const HappensBefore& order, const Span& a, const Span& b);

}  // namespace ddpscope::ordering
