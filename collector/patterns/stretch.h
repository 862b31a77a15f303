// A part of the run.
#pragma once
#include <cstdint>

namespace ddpscope::patterns {

struct Stretch {
  std::int64_t begin_ns, end_ns;
};

}  // namespace ddpscope::patterns
