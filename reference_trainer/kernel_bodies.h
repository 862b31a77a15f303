// What one thread of each kernel does. The GPU kernels and their CPU bodies both call these, so numbers
// agree.
#pragma once

#include <cmath>

#include "kernels.h"

namespace reference_trainer {

// Work item: one embedded token, (position, c).
__host__ __device__ inline void run_item(const EmbedForward& a, int64_t item) {
  const int position = static_cast<int>(item / a.batch.context);
  const int c = static_cast<int>(item % a.batch.context);
  const float* row =
      a.table + static_cast<int64_t>(a.tokens[a.batch.first_token(position) + c]) * a.embedding;
  for (int e = 0; e < a.embedding; ++e) a.out[item * a.embedding + e] = row[e];
}

// Work item: one row of the table, so that no two threads add to the same place.
__host__ __device__ inline void run_item(const EmbedBackward& a, int64_t vocabulary_item) {
  float* row = a.table_gradient + vocabulary_item * a.embedding;
  for (int position = 0; position < a.batch.positions(); ++position) {
    for (int c = 0; c < a.batch.context; ++c) {
      if (a.tokens[a.batch.first_token(position) + c] != vocabulary_item) continue;
      const float* from =
          a.out_gradient + (static_cast<int64_t>(position) * a.batch.context + c) * a.embedding;
      for (int e = 0; e < a.embedding; ++e) row[e] += from[e];
    }
  }
}

// Work item: kLanes neighbouring outputs of one row.
__host__ __device__ inline void run_item(const LinearForward& a, int64_t item) {
  const int64_t row = item / (a.outputs / kLanes);
  const int64_t column = item % (a.outputs / kLanes) * kLanes;
  float sums[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = a.bias[column + lane];
  for (int k = 0; k < a.inputs; ++k) {
    const float x = a.x[row * a.inputs + k];
    const float* weight = a.weight + static_cast<int64_t>(k) * a.outputs + column;
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += x * weight[lane];
  }
  for (int lane = 0; lane < kLanes; ++lane) a.y[row * a.outputs + column + lane] = sums[lane];
}

// Work item: one input of one row. Each lane sums every kLanes-th product, then the lanes are added in order.
__host__ __device__ inline void run_item(const LinearBackwardInput& a, int64_t item) {
  const float* gradient = a.y_gradient + item / a.inputs * a.outputs;
  const float* weight = a.weight + item % a.inputs * a.outputs;
  float sums[kLanes] = {};
  for (int j = 0; j < a.outputs; j += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += gradient[j + lane] * weight[j + lane];
  }
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  a.x_gradient[item] = sum;
}

// Work item: kLanes neighbouring weights of one input.
__host__ __device__ inline void run_item(const LinearBackwardWeight& a, int64_t item) {
  const int64_t input = item / (a.outputs / kLanes);
  const int64_t column = item % (a.outputs / kLanes) * kLanes;
  float sums[kLanes] = {};
  for (int row = 0; row < a.rows; ++row) {
    const float x = a.x[static_cast<int64_t>(row) * a.inputs + input];
    const float* gradient = a.y_gradient + static_cast<int64_t>(row) * a.outputs + column;
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += x * gradient[lane];
  }
  float* out = a.weight_gradient + input * a.outputs + column;
  for (int lane = 0; lane < kLanes; ++lane) out[lane] += sums[lane];
}

// Work item: kLanes neighbouring biases.
__host__ __device__ inline void run_item(const LinearBackwardBias& a, int64_t item) {
  float sums[kLanes] = {};
  for (int row = 0; row < a.rows; ++row) {
    const float* gradient = a.y_gradient + static_cast<int64_t>(row) * a.outputs + item * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += gradient[lane];
  }
  for (int lane = 0; lane < kLanes; ++lane) a.bias_gradient[item * kLanes + lane] += sums[lane];
}

// Work item: one element.
__host__ __device__ inline void run_item(const TanhForward& a, int64_t item) { a.y[item] = tanhf(a.y[item]); }

// Work item: one element.
__host__ __device__ inline void run_item(const TanhBackward& a, int64_t item) {
  a.gradient[item] *= 1 - a.y[item] * a.y[item];
}

// Work item: one position.
__host__ __device__ inline void run_item(const CrossEntropy& a, int64_t position) {
  float* logits = a.logits + position * a.vocabulary;
  const int target = a.tokens[a.batch.first_token(static_cast<int>(position)) + a.batch.context];
  float largest = logits[0];
  for (int v = 1; v < a.vocabulary; ++v) largest = fmaxf(largest, logits[v]);
  const float target_logit = logits[target];
  double sum = 0;
  for (int v = 0; v < a.vocabulary; ++v) sum += expf(logits[v] - largest);
  a.losses[position] = static_cast<float>(log(sum) + largest - target_logit);
  if (a.scale == 0) return;
  const float factor = static_cast<float>(a.scale / sum);
  for (int v = 0; v < a.vocabulary; ++v) logits[v] = expf(logits[v] - largest) * factor;
  logits[target] -= a.scale;
}

// Work item: all positions, by one thread: a few hundred additions in a fixed order.
__host__ __device__ inline void run_item(const SumLosses& a, int64_t) {
  double sum = 0;
  for (int position = 0; position < a.positions; ++position) sum += a.losses[position];
  *a.total += a.scale * sum;
}

// Work item: one parameter.
__host__ __device__ inline void run_item(const AdamW& a, int64_t item) {
  const float gradient = a.gradients[item];
  const float first = a.beta1 * a.first_moments[item] + (1 - a.beta1) * gradient;
  const float second = a.beta2 * a.second_moments[item] + (1 - a.beta2) * gradient * gradient;
  a.first_moments[item] = first;
  a.second_moments[item] = second;
  const float update = first / a.first_correction / (sqrtf(second / a.second_correction) + a.epsilon);
  a.values[item] -= a.learning_rate * (update + a.weight_decay * a.values[item]);
}

}  // namespace reference_trainer
