// Why two accesses are not ordered: what was looked for between them, and what was found.
#pragma once
#include <string>
#include <vector>

#include "collector/ordering/happens_before.h"

namespace ddpscope::ordering {

struct Search {
  std::string edge;   // what kind of
  std::string found;  // "none between", or how far the last one reaches
};

// `first` is meant to come before `second`.
std::vector<Search> explain(const HappensBefore& order, const Span& first, const Span& second);

}  // namespace ddpscope::ordering
