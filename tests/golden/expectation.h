// What a golden trace says of itself in its "#:" lines.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collector/findings/finding.h"

namespace ddpscope::tests {

struct ExpectedFinding {
  std::string line;  // as written
  std::string slug;
  std::vector<std::int32_t> ranks;         // empty: any
  std::string severity, confidence, says;  // empty: any
  std::uint64_t count = 0;                 // 0: any
  std::optional<std::vector<std::string>> causes;
};

struct ExpectedGap {
  std::string slug, because;  // part of the reason that coverage gives
};

struct Expectation {
  std::vector<int> worlds;
  std::vector<ExpectedFinding> findings;
  std::vector<ExpectedGap> unjudged;
  std::vector<std::string> mistakes;  // in the lines themselves
};

// For a world of `world` ranks; `$W`, `${W-1}` and the like are replaced.
Expectation read_expectation(const std::string& text, int world);

// Empty if they agree; otherwise one sentence a difference.
std::vector<std::string> compare(const Expectation& expected, const findings::Outcome& outcome);

}  // namespace ddpscope::tests
