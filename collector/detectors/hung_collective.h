// The finding of ranks that wait in vain, for reports of what was and for looks at what is.
#pragma once
#include <cstdint>
#include <set>

#include "collector/detectors/hang_causes.h"

namespace ddpscope::detectors {

// `cause` is one of found.causes, which find_causes() made of `hangs`. Whether it counts is the caller's
// business.
findings::Finding tell_hang(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCauses& found,
                            const HangCause& cause);

// Of calls alone, not of the creation of communicators. Where nobody but processes that are `held` is
// missing, what holds these is a finding already.
void detect_hung_calls(const CallFacts& facts, const ordering::StuckWork& stuck, findings::Outcome& outcome,
                       const std::set<std::uint32_t>& held = {});

}  // namespace ddpscope::detectors
