// The model's kernels: what each one computes, and how it is put on a stream.
//
// All matrices are row-major float32. A *position* is one token to predict: sequence s, offset t. Each
// sequence holds context + targets tokens, so that every target has a full context before it. Every kernel
// sums in one fixed order and none uses atomics: the same input gives the same bits, on a GPU and in the CPU
// bodies alike.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace reference_trainer {

// Widths of all layers are multiples of this: a thread computes so many neighbouring outputs at once.
inline constexpr int kLanes = 16;

// How the tokens of a batch become positions.
struct BatchShape {
  int sequences;  // in the batch
  int targets;    // positions of a sequence
  int context;    // tokens before a position that the model sees

  __host__ __device__ int positions() const { return sequences * targets; }
  __host__ __device__ int tokens_per_sequence() const { return context + targets; }
  __host__ __device__ int first_token(int position) const {
    return position / targets * tokens_per_sequence() + position % targets;
  }
};

// out[position][c * embedding + e] = table[token c of the position's context][e]
struct EmbedForward {
  BatchShape batch;
  int embedding;
  const int32_t* tokens;
  const float* table;  // [vocabulary][embedding]
  float* out;          // [positions][context * embedding]
};

// table_gradient[v] += sum of out_gradient over all places where token v was looked up
struct EmbedBackward {
  BatchShape batch;
  int embedding;
  const int32_t* tokens;
  const float* out_gradient;
  float* table_gradient;
};

// y = x W + b, with x [rows][inputs], W [inputs][outputs]
struct LinearForward {
  int rows, inputs, outputs;
  const float *x, *weight, *bias;
  float* y;
};

// x_gradient = y_gradient Wᵀ
struct LinearBackwardInput {
  int rows, inputs, outputs;
  const float *y_gradient, *weight;
  float* x_gradient;
};

// weight_gradient += xᵀ y_gradient
struct LinearBackwardWeight {
  int rows, inputs, outputs;
  const float *x, *y_gradient;
  float* weight_gradient;
};

// bias_gradient += column sums of y_gradient
struct LinearBackwardBias {
  int rows, outputs;
  const float* y_gradient;
  float* bias_gradient;
};

// y = tanh(y)
struct TanhForward {
  float* y;
};

// gradient *= 1 - y²
struct TanhBackward {
  const float* y;
  float* gradient;
};

// losses[position] = -log softmax(logits)[target]; with scale > 0 the logits become scale × their own
// gradient.
struct CrossEntropy {
  BatchShape batch;
  int vocabulary;
  const int32_t* tokens;
  float* logits;
  float* losses;
  float scale;
};

// *total += scale × sum of losses
struct SumLosses {
  int positions;
  const float* losses;
  double* total;
  double scale;
};

// Decoupled weight decay, Loshchilov and Hutter 2019; corrections are 1 - beta^step.
struct AdamW {
  float *values, *first_moments, *second_moments;
  const float* gradients;
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  float first_correction, second_correction;
};

void launch(const EmbedForward& arguments, cudaStream_t stream);
void launch(const EmbedBackward& arguments, int vocabulary, cudaStream_t stream);
void launch(const LinearForward& arguments, cudaStream_t stream);
void launch(const LinearBackwardInput& arguments, cudaStream_t stream);
void launch(const LinearBackwardWeight& arguments, cudaStream_t stream);
void launch(const LinearBackwardBias& arguments, cudaStream_t stream);
void launch(const TanhForward& arguments, int64_t elements, cudaStream_t stream);
void launch(const TanhBackward& arguments, int64_t elements, cudaStream_t stream);
void launch(const CrossEntropy& arguments, cudaStream_t stream);
void launch(const SumLosses& arguments, cudaStream_t stream);
void launch(const AdamW& arguments, int64_t elements, cudaStream_t stream);

}  // namespace reference_trainer
