// A model with what trains it: gradient buckets and optimizer.
#pragma once

#include "gradient_buckets.h"
#include "optimizer.h"

namespace reference_trainer {

class Learner {
 public:
  // `replicas`: the ranks that have the same part of the model.
  Learner(const Arguments& arguments, const ModelShape& shape, const ModelPart& part, ProcessGroup& replicas);
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // Forward and backward of micro-batch number `micro_batch` of optimizer step `step` (from 1); see
  // Model::forward. Gradients add up over the micro-batches; one reduction, with the last, is enough.
  void train(const int32_t* tokens, int micro_batch, int64_t step, double* total, cudaStream_t stream);

  // Applies the gradients as step number `step`.
  void update(int64_t step, cudaStream_t stream);

  // Takes part in the reductions of a step with gradients that are zero, as the optimizer leaves them.
  void reduce_nothing(int64_t step, cudaStream_t stream);

  Model model;
  GradientBuckets buckets;
  Optimizer optimizer;

 private:
  bool reduces_with(int micro_batch) const;

  const Faults& faults_;
  const int micro_batches_;  // in a step
  const int rank_;
};

}  // namespace reference_trainer
