// A model with what trains it: gradient buckets and optimizer.
#pragma once

#include "gradient_buckets.h"
#include "optimizer.h"

namespace reference_trainer {

class Learner {
 public:
  Learner(const Arguments& arguments, const ModelShape& shape, ProcessGroup& group)
      : model(shape, {arguments.batch, arguments.targets, arguments.context}, arguments.seed + group.rank()),
        buckets(model, arguments.bucket_bytes, group, arguments.faults),
        optimizer(model, arguments.learning_rate) {}
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // Forward and backward of one micro-batch; see Model::train and GradientBuckets::begin.
  void backward(const int32_t* tokens, double share, double* total, int64_t step, bool reduce,
                cudaStream_t stream) {
    buckets.begin(step, reduce);
    model.train(tokens, share, total, stream, [&](size_t parameter) { buckets.ready(parameter, stream); });
    buckets.finish(stream);
  }

  // Takes part in the reductions of a step with gradients that are zero, as the optimizer leaves them.
  void reduce_nothing(int64_t step, cudaStream_t stream) {
    buckets.begin(step, true);
    for (size_t i = 0; i < model.parameters().size(); ++i) buckets.ready(i, stream);
    buckets.finish(stream);
  }

  Model model;
  GradientBuckets buckets;
  Optimizer optimizer;
};

}  // namespace reference_trainer
