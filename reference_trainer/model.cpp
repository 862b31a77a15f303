// The language model: its layers, forward and backward.
#include "model.h"

#include <cmath>
#include <random>

namespace reference_trainer {

Model::Model(const ModelShape& shape, const BatchShape& batch, uint64_t seed)
    : batch_(batch), embedding_(shape.embedding) {
  const size_t positions = batch.positions();
  const int first_inputs = batch.context * shape.embedding;
  for (int index = 0; index <= shape.layers; ++index) {
    Layer layer = {};
    layer.inputs = index == 0 ? first_inputs : shape.width;
    layer.outputs = index == shape.layers ? kVocabulary : shape.width;
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
  const auto fill = [&](const Parameter& parameter, float deviation) {
    std::normal_distribution<float> distribution(0, deviation);
    for (size_t i = 0; i < parameter.count; ++i) values[parameter.offset + i] = distribution(generator);
  };
  fill(table_, 1);
  for (const Layer& layer : layers_) fill(layer.weight, 1 / std::sqrt(static_cast<float>(layer.inputs)));
  values_.upload(values);
}

void Model::run_layers(const int32_t* tokens, size_t count, cudaStream_t stream) {
  const int positions = batch_.positions();
  launch(EmbedForward{batch_, embedding_, tokens, values_.data() + table_.offset, embedded_.data()}, stream);
  for (size_t index = 0; index < count; ++index) {
    const Layer& layer = layers_[index];
    launch(LinearForward{positions, layer.inputs, layer.outputs, input_of(index),
                         values_.data() + layer.weight.offset, values_.data() + layer.bias.offset,
                         layer.output.data()},
           stream);
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
}

}  // namespace reference_trainer
