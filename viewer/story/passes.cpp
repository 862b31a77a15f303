// A rank's input batches, pass by pass.
#include "viewer/story/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ddpscope::viewer {
namespace {

// The first batch that comes again, and how many later.
struct Repetition {
  std::size_t first = 0, length = 0;
};

// Two batches by chance alike make no pass.
bool holds(const std::vector<StoryAccess>& inputs, Repetition repetition) {
  std::size_t end = std::min(repetition.first + repetition.length, inputs.size() - repetition.length),
              equal = 0;
  for (std::size_t i = repetition.first; i < end; ++i)
    equal += inputs[i].digest == inputs[i + repetition.length].digest;
  std::size_t compared = end - std::min(end, repetition.first);
  return equal >= 3 && equal * 4 >= compared * 3;
}

Repetition repetition_in(const std::vector<StoryAccess>& inputs) {
  std::map<std::uint64_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) places[inputs[i].digest].push_back(i);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<std::size_t>& own = places[inputs[i].digest];
    auto again = std::upper_bound(own.begin(), own.end(), i);
    if (again != own.end() && holds(inputs, {i, *again - i})) return {i, *again - i};
  }
  return {};
}

}  // namespace

std::vector<FileLine> passes_of(const FileLine& inputs) {
  const std::vector<StoryAccess>& all = inputs.accesses;
  Repetition repetition = repetition_in(all);
  std::vector<FileLine> passes;
  if (repetition.length == 0) return passes;
  for (std::size_t begin = repetition.first; begin < all.size() && passes.size() < kMostPasses;
       begin += repetition.length) {
    FileLine pass{inputs.rank_row, {}, false, inputs.at_fault, fmt::format("pass {}", passes.size() + 1)};
    for (std::size_t i = 0; i < repetition.length && begin + i < all.size(); ++i) {
      pass.accesses.push_back(all[repetition.first + i]);
      pass.accesses.back().digest = all[begin + i].digest;
    }
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace ddpscope::viewer
