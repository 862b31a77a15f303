// AdamW over all parameters of a model.
#pragma once

#include "model.h"

namespace reference_trainer {

class Optimizer {
 public:
  Optimizer(const Model& model, double learning_rate)
      : model_(model),
        learning_rate_(learning_rate),
        first_moments_(model.values().size()),
        second_moments_(model.values().size()) {}

  // Applies the gradients as step number `step` (from 1), then clears them.
  void step(int64_t step, cudaStream_t stream);

  void scale_learning_rate(double factor) { learning_rate_ *= factor; }

  const DeviceBuffer<float>& first_moments() const { return first_moments_; }
  const DeviceBuffer<float>& second_moments() const { return second_moments_; }

 private:
  const Model& model_;
  double learning_rate_;
  DeviceBuffer<float> first_moments_, second_moments_;
};

}  // namespace reference_trainer
