// A small neural language model (after Bengio et al. 2003): the embeddings of the last few characters go
// through fully connected tanh layers to a distribution over the next character.
#pragma once

#include <functional>
#include <vector>

#include "corpus.h"
#include "device.h"
#include "kernels.h"

namespace reference_trainer {

struct ModelShape {
  int embedding;
  int width;
  int layers;
};

// A model may be held by several ranks together, as Megatron splits it (Shoeybi et al. 2019): each has some
// of the first layer's outputs, which are the second layer's inputs, and all of the others.
struct ModelPart {
  int shard = 0, shards = 1;
  // Sums over the parts, in place: what follows on the stream comes after it.
  std::function<void(const DeviceBuffer<float>&, cudaStream_t)> add_up = {};
};

// A part of the flat parameter and gradient arrays.
struct Parameter {
  size_t offset, count;
};

class Model {
 public:
  // Different seeds give different initial values, parts of the same seed those of one model.
  Model(const ModelShape& shape, const BatchShape& batch, uint64_t seed, ModelPart part = {});

  // In the order in which a backward pass finishes their gradients: last layer first.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const DeviceBuffer<float>& values() const { return values_; }
  const DeviceBuffer<float>& gradients() const { return gradients_; }

  // Adds the mean loss over the batch's positions, times `share`, to *total (device memory).
  void evaluate(const int32_t* tokens, double share, double* total, cudaStream_t stream);
  // Likewise, and keeps what backward() needs.
  void forward(const int32_t* tokens, double share, double* total, cudaStream_t stream);
  // What hidden layers put out in the last forward pass, once more: gradient checkpointing.
  void recompute(const int32_t* tokens, cudaStream_t stream) {
    run_layers(tokens, layers_.size() - 1, stream);
  }
  // Adds the last forward pass's share × gradient of the mean loss to gradients(). ready(i) is called as soon
  // as parameter i needs no more work on the stream.
  void backward(const int32_t* tokens, cudaStream_t stream, const std::function<void(size_t)>& ready);

 private:
  struct Layer {
    int inputs, outputs;
    Parameter weight, bias;
    DeviceBuffer<float> output;           // [positions][outputs], after tanh but for the last layer
    DeviceBuffer<float> output_gradient;  // likewise; the last layer's takes its output's place
  };
  Parameter add_parameter(size_t count);
  void initialise(uint64_t seed);
  bool split() const { return part_.shards > 1; }
  const float* bias_of(size_t layer) const;
  // The first `count` layers.
  void run_layers(const int32_t* tokens, size_t count, cudaStream_t stream);
  void compute_loss(const int32_t* tokens, float scale, double share, double* total, cudaStream_t stream);
  void backward_layer(size_t index, cudaStream_t stream);
  const float* input_of(size_t layer) const {
    return layer == 0 ? embedded_.data() : layers_[layer - 1].output.data();
  }
  float* input_gradient_of(size_t layer) const {
    return layer == 0 ? embedded_gradient_.data() : layers_[layer - 1].output_gradient.data();
  }

  BatchShape batch_;
  ModelPart part_;
  int embedding_;
  std::vector<Parameter> parameters_;
  std::vector<Layer> layers_;
  Parameter table_{};
  DeviceBuffer<float> embedded_, embedded_gradient_;  // [positions][context × embedding]
  DeviceBuffer<float> no_bias_;                       // [second layer's outputs], zero
  DeviceBuffer<float> losses_;                        // [positions]
  DeviceBuffer<float> values_, gradients_;
};

}  // namespace reference_trainer
