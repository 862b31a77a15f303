// What the reductions of one step cost beyond the one that is needed.
#pragma once
#include <vector>

#include "collector/patterns/link_cost.h"

namespace ddpscope::detectors {

// One reduction set of a micro-batch: for each of its calls which part of the micro-batch's kernels had been
// enqueued before it, and how long it takes on the link.
struct ReductionSet {
  std::vector<double> ready;        // 0 to 1, ascending
  std::vector<double> duration_ns;  // same size
};

// Time that a micro-batch with kernels of `compute_ns` in all takes with the set, when reductions run beside
// the kernels, one after the other, each from when its gradients are ready.
double micro_batch_ns(const ReductionSet& set, double compute_ns);

// A step of `step_ns` with `sets` micro-batches that all reduce: what it would save to reduce in one only.
// Finds the compute time with which the model gives the step its measured length.
double saved_ns(const ReductionSet& set, int sets, double step_ns);

}  // namespace ddpscope::detectors
