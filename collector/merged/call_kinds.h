// Where on the time lines a call stands, by what it means.
#pragma once
#include <cstdint>

#include "collector/merged/kinds.h"
#include "trace/calls.h"

namespace ddpscope::merged {

enum class Line : std::uint8_t {
  kNone,  // no call, or one that tells the analysis something else
  kCalls,
  kFiles,
  kInput,
  kRange,  // one end of a range that the program names
  kPass,   // likewise, whole: of a framework
};

struct CallKind {
  Line line;
  Kind kind;
};

// A call that this version does not know is kOther among kCalls.
CallKind kind_of(const trace::CallInfo& call);

}  // namespace ddpscope::merged
