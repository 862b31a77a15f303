// Where the ranks of a communicator part ways. NCCL pairs calls by their ordinal, so that one call left out
// shifts all that follow; here sequences are aligned instead, and one skipped, surplus or differing call is
// one divergence.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"

namespace ddpscope::matching {

enum class DivergenceKind : std::uint8_t {
  kMissing,    // the odd members leave out a call that the others make
  kSurplus,    // the odd members make a call that the others do not make
  kDifferent,  // the odd members make another call in its place
};

struct Divergence {
  DivergenceKind kind;
  std::uint32_t communicator;
  std::vector<std::uint32_t> odd;  // members, ascending
  // By member: the call at this place, kNone where it makes none (any more). For kMissing the odd members'
  // entry is what they go on with.
  std::vector<std::uint32_t> calls;
  std::uint32_t expected;  // a call of a member that is not odd; kNone for kSurplus when the others end here
  std::uint32_t actual;    // a call of an odd member, kNone if it ends here
  bool decided;            // false: as many members on either side and nothing tells which is odd
  bool other_order = false;  // of one made alone: the other side makes it too, shortly behind

  bool is_odd(std::uint32_t member) const { return std::binary_search(odd.begin(), odd.end(), member); }
};

// A member that made no more calls while others did: it ended, hangs elsewhere, or the trace ends first.
struct ShortMember {
  std::uint32_t communicator;
  std::uint32_t member;
  std::uint32_t first_missed;  // a call of a peer
};

struct Divergences {
  std::vector<Divergence> divergences;  // in the order of each communicator
  std::vector<ShortMember> short_members;
};

// Members whose recording lost calls are left out.
Divergences find_divergences(const Collectives& collectives);

}  // namespace ddpscope::matching
