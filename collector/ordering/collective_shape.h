// Who comes before whom in one collective.
#pragma once
#include <cstdint>

#include "trace/calls.h"

namespace ddpscope::ordering {

enum class Shape : std::uint8_t { kAllToAll, kFromRoot, kToRoot };

constexpr Shape shape_of(trace::Operation operation) {
  switch (operation) {
    case trace::Operation::kBroadcast:
    case trace::Operation::kScatter:
      return Shape::kFromRoot;
    case trace::Operation::kReduce:
    case trace::Operation::kGather:
      return Shape::kToRoot;
    default:
      return Shape::kAllToAll;
  }
}

}  // namespace ddpscope::ordering
