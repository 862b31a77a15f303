// Compares the stacks of all call sites.
#include "collector/detectors/code_places.h"

#include <algorithm>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {

void CodePlaces::load() const {
  stacks_.resize(collectives_.sites.size());
  for (const matching::CollectiveCall& call : collectives_.calls)
    if (call.site && stacks_[call.site].empty()) stacks_[call.site] = stack_of(job_, call.event);
}

std::string CodePlaces::of(const matching::CollectiveCall& call) const {
  if (stacks_.empty()) load();
  const std::vector<std::string>& own = stacks_[call.site];
  for (std::size_t depth = 1; depth <= own.size(); ++depth) {
    auto inner = own.begin() + static_cast<std::ptrdiff_t>(depth);
    auto shares = [&](const std::vector<std::string>& other) {
      return other.size() >= depth && std::equal(own.begin(), inner, other.begin());
    };
    if (std::count_if(stacks_.begin(), stacks_.end(), shares) == 1) return own[depth - 1];
  }
  return own.empty() ? "" : own.front();
}

std::string CodePlaces::whole(const matching::CollectiveCall& call) const {
  if (stacks_.empty()) load();
  std::string text;
  for (const std::string& frame : stacks_[call.site]) text += frame + "\n";
  return text;
}

}  // namespace ddpscope::detectors
