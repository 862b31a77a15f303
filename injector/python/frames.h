// The frames of a thread, innermost first.
#pragma once
#include "injector/python/layout.h"

namespace ddpscope::injector::python {

struct Place {
  Address code;
  std::uint64_t instruction;  // the one begun last, as the frame has it
};

struct Walk {
  static constexpr int kMaxFrames = 64;
  Place places[kMaxFrames];
  int count = 0;
  std::uint64_t hash = 0x9E3779B97F4A7C15u;  // of all places
};

// The instruction's, in bytes from the code's first.
int offset_of(const Place& place);

// The innermost of this thread, 0 for none.
Address own_innermost(Address state);

// Nobody else changes the frames of this thread while it is in native code, and they keep their code and its
// names alive.
void walk_own_frames(Address frame, Walk* walk);

// Another thread's frames, which it may change at any time: each is copied and checked before it is believed.
void walk_other_frames(Address frame, Walk* walk);

// Where a thread stands that may be running.
struct Standing {
  Address frame = 0;
  Address instruction = 0;
  bool operator==(const Standing&) const = default;
};

Standing standing_of(Address state);

}  // namespace ddpscope::injector::python
