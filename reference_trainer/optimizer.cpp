// AdamW over all parameters of a model.
#include "optimizer.h"

#include <cmath>

namespace reference_trainer {

void Optimizer::step(int64_t step, cudaStream_t stream) {
  constexpr double kBeta1 = 0.9, kBeta2 = 0.99;
  AdamW update = {};
  update.values = model_.values().data();
  update.gradients = model_.gradients().data();
  update.first_moments = first_moments_.data();
  update.second_moments = second_moments_.data();
  update.learning_rate = static_cast<float>(learning_rate_);
  update.beta1 = static_cast<float>(kBeta1);
  update.beta2 = static_cast<float>(kBeta2);
  update.epsilon = 1e-8f;
  update.weight_decay = 0.01f;
  update.first_correction = static_cast<float>(1 - std::pow(kBeta1, step));
  update.second_correction = static_cast<float>(1 - std::pow(kBeta2, step));
  launch(update, static_cast<int64_t>(model_.values().size()), stream);
  check(cudaMemsetAsync(model_.gradients().data(), 0, model_.gradients().bytes(), stream));
}

}  // namespace reference_trainer
