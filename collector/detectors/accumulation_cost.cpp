// A pipeline of two stages, solved for the compute time by bisection.
#include "collector/detectors/accumulation_cost.h"

#include <algorithm>

namespace ddpscope::detectors {

double micro_batch_ns(const ReductionSet& set, double compute_ns) {
  double done = 0;
  for (std::size_t i = 0; i < set.ready.size(); ++i)
    done = std::max(done, set.ready[i] * compute_ns) + set.duration_ns[i];
  return std::max(done, compute_ns);
}

double saved_ns(const ReductionSet& set, int sets, double step_ns) {
  double target = step_ns / sets;
  double low = 0, high = target;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings; ++i) {
    double middle = (low + high) / 2;
    (micro_batch_ns(set, middle) < target ? low : high) = middle;
  }
  return (sets - 1) * (std::max(target, high) - high);
}

}  // namespace ddpscope::detectors
