// The language model: its layers, forward and backward.
#include "model.h"

#include <cmath>
#include <random>

namespace reference_trainer {

Model::Model(const ModelShape& shape, const BatchShape& batch, uint64_t seed, ModelPart part)
    : batch_(batch), part_(std::move(part)), embedding_(shape.embedding) {
  const size_t positions = batch.positions();
  const int first_inputs = batch.context * shape.embedding;
  for (int index = 0; index <= shape.layers; ++index) {
    Layer layer = {};
    layer.inputs = index == 0 ? first_inputs : index == 1 ? shape.width / part_.shards : shape.width;
    layer.outputs = index == shape.layers ? kVocabulary
                    : index == 0          ? shape.width / part_.shards
                                          : shape.width;
    layer.output = DeviceBuffer<float>(positions * layer.outputs);
    if (index < shape.layers) layer.output_gradient = DeviceBuffer<float>(positions * layer.outputs);
    layers_.push_back(std::move(layer));
  }
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    layer->weight = add_parameter(static_cast<size_t>(layer->inputs) * layer->outputs);
    layer->bias = add_parameter(layer->outputs);
  }
  table_ = add_parameter(static_cast<size_t>(kVocabulary) * shape.embedding);
  embedded_ = DeviceBuffer<float>(positions * first_inputs);
  embedded_gradient_ = DeviceBuffer<float>(positions * first_inputs);
  no_bias_ = DeviceBuffer<float>(layers_[1].outputs);
  losses_ = DeviceBuffer<float>(positions);
  values_ = DeviceBuffer<float>(table_.offset + table_.count);
  gradients_ = DeviceBuffer<float>(values_.size());
  initialise(seed);
}

Parameter Model::add_parameter(size_t count) {
  const size_t offset = parameters_.empty() ? 0 : parameters_.back().offset + parameters_.back().count;
  parameters_.push_back({offset, count});
  return parameters_.back();
}

void Model::initialise(uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> values(values_.size());
  // Of `parts` parts, which are drawn one after the other, row by row, this rank keeps its own.
  const auto fill = [&](const Parameter& own, float deviation, size_t row, int parts) {
    std::normal_distribution<float> distribution(0, deviation);
    for (size_t i = 0; i < own.count * parts; ++i) {
      const float value = distribution(generator);
      const size_t in_rows = i / row / parts * row + i % row;
      if (static_cast<int>(i / row % parts) == part_.shard % parts) values[own.offset + in_rows] = value;
    }
  };
  fill(table_, 1, table_.count, 1);
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const int parts = index < 2 ? part_.shards : 1;
    // The first layer's rows are split, of the second one's rows each part has some.
    const size_t row = index == 0 ? layer.outputs : layer.weight.count;
    const int inputs = layer.inputs * (index == 1 ? parts : 1);
    fill(layer.weight, 1 / std::sqrt(static_cast<float>(inputs)), row, parts);
  }
  values_.upload(values);
}

// Of parts that are added up one has the bias.
const float* Model::bias_of(size_t layer) const {
  return split() && layer == 1 && part_.shard > 0 ? no_bias_.data()
                                                  : values_.data() + layers_[layer].bias.offset;
}

void Model::run_layers(const int32_t* tokens, size_t count, cudaStream_t stream) {
  const int positions = batch_.positions();
  launch(EmbedForward{batch_, embedding_, tokens, values_.data() + table_.offset, embedded_.data()}, stream);
  for (size_t index = 0; index < count; ++index) {
    const Layer& layer = layers_[index];
    launch(LinearForward{positions, layer.inputs, layer.outputs, input_of(index),
                         values_.data() + layer.weight.offset, bias_of(index), layer.output.data()},
           stream);
    if (split() && index == 1) part_.add_up(layer.output, stream);
    if (index + 1 < layers_.size()) {
      launch(TanhForward{layer.output.data()}, static_cast<int64_t>(layer.output.size()), stream);
    }
  }
}

void Model::compute_loss(const int32_t* tokens, float scale, double share, double* total,
                         cudaStream_t stream) {
  const int positions = batch_.positions();
  run_layers(tokens, layers_.size(), stream);
  launch(CrossEntropy{batch_, kVocabulary, tokens, layers_.back().output.data(), losses_.data(), scale},
         stream);
  launch(SumLosses{positions, losses_.data(), total, share / positions}, stream);
}

void Model::evaluate(const int32_t* tokens, double share, double* total, cudaStream_t stream) {
  compute_loss(tokens, 0, share, total, stream);
}

void Model::forward(const int32_t* tokens, double share, double* total, cudaStream_t stream) {
  compute_loss(tokens, static_cast<float>(share / batch_.positions()), share, total, stream);
}

void Model::backward(const int32_t* tokens, cudaStream_t stream, const std::function<void(size_t)>& ready) {
  size_t done = 0;
  for (size_t index = layers_.size(); index-- > 0;) {
    backward_layer(index, stream);
    ready(done++);
    ready(done++);
  }
  launch(
      EmbedBackward{batch_, embedding_, tokens, embedded_gradient_.data(), gradients_.data() + table_.offset},
      kVocabulary, stream);
  ready(done);
}

void Model::backward_layer(size_t index, cudaStream_t stream) {
  const Layer& layer = layers_[index];
  const int positions = batch_.positions();
  const bool last = index + 1 == layers_.size();
  float* const gradient = last ? layer.output.data() : layer.output_gradient.data();
  if (!last) {
    launch(TanhBackward{layer.output.data(), gradient}, static_cast<int64_t>(layer.output.size()), stream);
  }
  launch(LinearBackwardWeight{positions, layer.inputs, layer.outputs, input_of(index), gradient,
                              gradients_.data() + layer.weight.offset},
         stream);
  launch(LinearBackwardBias{positions, layer.outputs, gradient, gradients_.data() + layer.bias.offset},
         stream);
  launch(LinearBackwardInput{positions, layer.inputs, layer.outputs, gradient,
                             values_.data() + layer.weight.offset, input_gradient_of(index)},
         stream);
  if (split() && index == 0) part_.add_up(embedded_gradient_, stream);
}

}  // namespace reference_trainer
