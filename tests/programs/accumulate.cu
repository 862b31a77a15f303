// A perceptron of three layers, data-parallel; gradients of several micro-batches add up before an update.
//
// usage: accumulate IDFILE STEPS MICRO_BATCHES last|every|first|never|local|tail|late|averaged [range]
//
// - last, every, first, never: which micro-batches of a step are reduced
// - local: none; the weights are averaged every four steps
// - tail: the last, but of every third step none
// - late: the sums, behind the update
// - averaged: the weights, behind each update
// - range: the update's kernel has a name that says nothing, a range (NVTX) around it does
#include <nvtx3/nvToolsExt.h>

#include <vector>

#include "layers.h"

__global__ void sgd_update(float* w, const float* dw, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= rate * dw[i];
}

__global__ void subtract(float* w, const float* dw, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= rate * dw[i];
}

struct Trainer {
  Ranks ranks;
  bool by_range;
  cudaStream_t compute, communication;
  cudaEvent_t ready;
  std::vector<Layer> layers;
  Batch batch;
  float* loss = device_floats(1);

  Trainer(const char* id_file, bool by_range)
      : ranks(id_file), by_range(by_range), batch(256, 1 + ranks.rank) {
    CUDA(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&communication, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    layers = {Layer(256, 512), Layer(512, 128), Layer(128, 16)};
  }

  void share_weights() {
    for (Layer& layer : layers) {
      float* w = layer.weights;
      NCCL(ncclBroadcast(w, w, layer.count(), ncclFloat, 0, ranks.all, communication));
    }
    CUDA(cudaStreamSynchronize(communication));
  }

  void reduce(const Layer& layer) {
    CUDA(cudaEventRecord(ready, compute));
    CUDA(cudaStreamWaitEvent(communication, ready, 0));
    NCCL(ncclAllReduce(layer.gradients, layer.gradients, layer.count(), ncclFloat, ncclAvg, ranks.all,
                       communication));
  }

  void micro_batch(bool reduces) {
    const float* x = batch.next(compute);
    for (Layer& layer : layers) x = layer.forward(x, compute);
    Layer& top = layers.back();
    loss_forward_backward<<<blocks(kBatch * top.outputs), kThreads, 0, compute>>>(top.y, top.dy, loss,
                                                                                  top.outputs);
    const float* dy = top.dy;
    for (size_t i = layers.size(); i-- > 0;) {
      dy = layers[i].backward(i ? layers[i - 1].y : batch.data, dy, compute);
      if (reduces) reduce(layers[i]);
    }
  }

  void update(bool late) {
    CUDA(cudaEventRecord(ready, communication));
    CUDA(cudaStreamWaitEvent(compute, ready, 0));
    if (by_range) nvtxRangePushA("optimizer step");
    for (Layer& layer : layers) {
      auto kernel = by_range ? subtract : sgd_update;
      kernel<<<blocks(layer.count()), kThreads, 0, compute>>>(layer.weights, layer.gradients, layer.count(),
                                                              0.01f);
      if (!late) clear(layer);
    }
    if (by_range) nvtxRangePop();
    if (!late) return;
    for (Layer& layer : layers) reduce(layer);
    CUDA(cudaStreamSynchronize(communication));
    for (Layer& layer : layers) clear(layer);
  }

  void clear(const Layer& layer) { CUDA(cudaMemsetAsync(layer.gradients, 0, layer.bytes(), compute)); }

  void average_loss() {
    CUDA(cudaStreamSynchronize(compute));
    NCCL(ncclAllReduce(loss, loss, 1, ncclFloat, ncclAvg, ranks.all, compute));
  }

  void average_weights() {
    CUDA(cudaStreamSynchronize(compute));
    for (Layer& layer : layers)
      NCCL(ncclAllReduce(layer.weights, layer.weights, layer.count(), ncclFloat, ncclAvg, ranks.all,
                         communication));
    CUDA(cudaStreamSynchronize(communication));
  }
};

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Trainer trainer(argv[1], argc > 5 && argv[5] == std::string("range"));
  int steps = atoi(argv[2]), micro_batches = atoi(argv[3]);
  std::string when = argv[4];
  if (when != "alike") trainer.share_weights();  // all draw the same ones there
  for (int step = 1; step <= steps; step++) {
    bool reduced = when == "last" || (when == "tail" && step % 3 != 0);
    for (int i = 0; i < micro_batches; i++)
      trainer.micro_batch(when == "every" || (when == "first" && i == 0) ||
                          (reduced && i == micro_batches - 1));
    trainer.update(when == "late");
    if (when == "averaged") trainer.average_weights();
    if (when == "alike") trainer.average_loss();
    printf("step %d: loss %f\n", step, read_loss(trainer.loss, trainer.compute));
    if (when == "local" && step % 4 == 0) trainer.average_weights();
  }
  return 0;
}
