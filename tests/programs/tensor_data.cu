// Pairs of ranks hold one model, each half of its hidden layers, and add activations up over a communicator
// of their own; the pairs train data-parallel.
//
// usage: tensor_data IDFILE STEPS MICRO_BATCHES last|every      which micro-batches of a step are reduced
#include <vector>

#include "layers.h"

__global__ void sgd_momentum_kernel(float* w, const float* dw, float* momentum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= 0.01f * (momentum[i] = 0.9f * momentum[i] + dw[i]);
}

// A column-parallel layer and a row-parallel one behind it.
struct Block {
  Layer up, down;
  float *up_momentum = device_floats(up.count()), *down_momentum = device_floats(down.count());
};

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Ranks ranks(argv[1]);
  int steps = atoi(argv[2]), micro_batches = atoi(argv[3]);
  bool every = !strcmp(argv[4], "every");
  ncclComm_t pair, data;
  NCCL(ncclCommSplit(ranks.all, ranks.rank / 2, ranks.rank, &pair, nullptr));
  NCCL(ncclCommSplit(ranks.all, ranks.rank % 2, ranks.rank, &data, nullptr));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  const int width = 256;
  std::vector<Block> blocks_of_model = {{Layer(width, 512), Layer(512, width)},
                                        {Layer(width, 512), Layer(512, width)}};
  Batch batch(width, 1 + ranks.rank / 2);  // both of a pair have the same
  float* loss = device_floats(1);
  auto layers_of = [](Block& block) { return std::vector<Layer*>{&block.up, &block.down}; };
  for (Block& block : blocks_of_model) {
    for (Layer* layer : layers_of(block))
      NCCL(ncclBroadcast(layer->weights, layer->weights, layer->count(), ncclFloat, 0, data, stream));
  }
  auto add_up = [&](const float* activations) {
    NCCL(ncclAllReduce(activations, (void*)activations, kBatch * width, ncclFloat, ncclSum, pair, stream));
    return activations;
  };
  for (int step = 0; step < steps; step++) {
    for (int i = 0; i < micro_batches; i++) {
      const float* x = batch.next(stream);
      for (Block& block : blocks_of_model)
        x = add_up(block.down.forward(block.up.forward(x, stream), stream));
      Layer& top = blocks_of_model.back().down;
      loss_forward_backward<<<blocks(kBatch * width), kThreads, 0, stream>>>(top.y, top.dy, loss, width);
      const float* dy = top.dy;
      for (size_t b = blocks_of_model.size(); b-- > 0;) {
        Block& block = blocks_of_model[b];
        dy = block.down.backward(block.up.y, dy, stream);
        dy = add_up(block.up.backward(b ? blocks_of_model[b - 1].down.y : batch.data, dy, stream));
      }
      if (!every && i < micro_batches - 1) continue;
      for (Block& block : blocks_of_model) {
        for (Layer* layer : layers_of(block))
          NCCL(ncclAllReduce(layer->gradients, layer->gradients, layer->count(), ncclFloat, ncclAvg, data,
                             stream));
      }
    }
    for (Block& block : blocks_of_model) {
      for (Layer* layer : layers_of(block)) {
        float* momentum = layer == &block.up ? block.up_momentum : block.down_momentum;
        sgd_momentum_kernel<<<blocks(layer->count()), kThreads, 0, stream>>>(layer->weights, layer->gradients,
                                                                             momentum, layer->count());
        CUDA(cudaMemsetAsync(layer->gradients, 0, layer->bytes(), stream));
      }
    }
    printf("step %d: loss %f\n", step, read_loss(loss, stream));
  }
  return 0;
}
