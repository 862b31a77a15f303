// Entries of the coverage that several detectors share.
#include "collector/findings/finding.h"

#include <algorithm>

namespace ddpscope::findings {

void Outcome::leave_unjudged(Coverage entry) {
  auto known = std::find_if(coverage.begin(), coverage.end(), [&](const Coverage& other) {
    return other.what == entry.what && other.why == entry.why && other.entirely == entry.entirely;
  });
  if (known == coverage.end())
    coverage.push_back(std::move(entry));
  else
    known->unjudged.insert(known->unjudged.end(), entry.unjudged.begin(), entry.unjudged.end());
}

}  // namespace ddpscope::findings
