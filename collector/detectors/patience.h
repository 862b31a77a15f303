// How long somebody must wait in vain until it counts, by what keeps the one that is waited for.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ddpscope::detectors {

constexpr std::int64_t kLongWait = 2'000'000'000;
// Who comes by itself (at_work.h: waits for a child, a server, a time, is inside one write) gets this many
// times as long as other ranks; so does a rank that cannot be asked, and so do all in the first call of its
// kind, once everybody came.
constexpr std::int64_t kPatience = 10;
// Who computes or saves: an evaluation of minutes is as usual as an endless loop is rare.
constexpr std::int64_t kPatienceWithWork = 100;

// By what such waits took before (design, section 2); all in ns.
constexpr std::int64_t least_hang(std::int64_t p99, std::int64_t longest) {
  constexpr std::int64_t kTimes = 10;
  return std::max({kLongWait, kTimes * p99, longest});
}

}  // namespace ddpscope::detectors
