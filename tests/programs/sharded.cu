// Weights, gradients and the optimizer's state spread over the ranks: a layer's weights are gathered when
// they are needed, and its gradients go to the ranks that keep them.
//
// usage: sharded IDFILE STEPS MICRO_BATCHES every|together|last
//   which micro-batches of a step are reduced; together: every one, when backward has come to its end
#include <vector>

#include "layers.h"

__global__ void add_to_shard(float* shard, const float* reduced, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) shard[i] += reduced[i];
}

__global__ void adamw_kernel(float* w, const float* dw, float* m, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.9f * m[i] + 0.1f * dw[i];
  v[i] = 0.95f * v[i] + 0.05f * dw[i] * dw[i];
  w[i] -= 3e-4f * (m[i] / (sqrtf(v[i]) + 1e-8f) + 0.1f * w[i]);
}

struct Unit {
  Layer layer;
  int own;  // values of this rank
  float *weights, *gradients, *reduced, *m, *v;

  Unit(int inputs, int outputs, int world)
      : layer(inputs, outputs),
        own(layer.count() / world),
        weights(device_floats(own)),
        gradients(device_floats(own)),
        reduced(device_floats(own)),
        m(device_floats(own)),
        v(device_floats(own)) {}
};

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Ranks ranks(argv[1]);
  int steps = atoi(argv[2]), micro_batches = atoi(argv[3]);
  std::string when = argv[4];
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  std::vector<Unit> units = {Unit(256, 512, ranks.world), Unit(512, 128, ranks.world),
                             Unit(128, 16, ranks.world)};
  Batch batch(256, 1 + ranks.rank);
  float* loss = device_floats(1);
  auto gather = [&](Unit& unit) {
    NCCL(ncclAllGather(unit.weights, unit.layer.weights, unit.own, ncclFloat, ranks.all, stream));
  };
  auto scatter = [&](Unit& unit) {
    NCCL(ncclReduceScatter(unit.layer.gradients, unit.reduced, unit.own, ncclFloat, ncclAvg, ranks.all,
                           stream));
    add_to_shard<<<blocks(unit.own), kThreads, 0, stream>>>(unit.gradients, unit.reduced, unit.own);
    CUDA(cudaMemsetAsync(unit.layer.gradients, 0, unit.layer.bytes(), stream));
  };
  for (int step = 0; step < steps; step++) {
    for (int i = 0; i < micro_batches; i++) {
      const float* x = batch.next(stream);
      for (Unit& unit : units) {
        gather(unit);
        x = unit.layer.forward(x, stream);
      }
      Layer& top = units.back().layer;
      loss_forward_backward<<<blocks(kBatch * top.outputs), kThreads, 0, stream>>>(top.y, top.dy, loss,
                                                                                   top.outputs);
      const float* dy = top.dy;
      for (size_t u = units.size(); u-- > 0;) {
        gather(units[u]);
        dy = units[u].layer.backward(u ? units[u - 1].layer.y : batch.data, dy, stream);
        if (when == "every" || (when == "last" && i == micro_batches - 1)) scatter(units[u]);
      }
      if (when != "together") continue;
      for (Unit& unit : units) scatter(unit);
    }
    for (Unit& unit : units) {
      adamw_kernel<<<blocks(unit.own), kThreads, 0, stream>>>(unit.weights, unit.gradients, unit.m, unit.v,
                                                              unit.own);
      CUDA(cudaMemsetAsync(unit.gradients, 0, unit.own * sizeof(float), stream));
    }
    printf("step %d: loss %f\n", step, read_loss(loss, stream));
  }
  return 0;
}
