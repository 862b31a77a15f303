// Two networks against each other, data-parallel: the critic learns from real and made-up samples, then the
// generator from what the critic says.
//
// usage: adversarial IDFILE STEPS
#include "layers.h"

__global__ void draw_noise(float* z, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = (i * 2654435761u + seed) * 0x1p-32f;
}

__global__ void adam_step(float* w, const float* dw, float* m, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.5f * m[i] + 0.5f * dw[i];
  v[i] = 0.9f * v[i] + 0.1f * dw[i] * dw[i];
  w[i] -= 2e-4f * m[i] / (sqrtf(v[i]) + 1e-8f);
}

struct Network {
  Layer first, second;
  float *m[2], *v[2];

  Network(int inputs, int width, int outputs) : first(inputs, width), second(width, outputs) {
    for (int i = 0; i < 2; i++) {
      m[i] = device_floats(part(i).count());
      v[i] = device_floats(part(i).count());
    }
  }
  Layer& part(int i) { return i ? second : first; }
  const float* forward(const float* x, cudaStream_t stream) {
    return second.forward(first.forward(x, stream), stream);
  }
  const float* backward(const float* x, const float* dy, cudaStream_t stream) {
    return first.backward(x, second.backward(first.y, dy, stream), stream);
  }
  void share(ncclComm_t ranks, cudaStream_t stream) {
    for (int i = 0; i < 2; i++)
      NCCL(ncclBroadcast(part(i).weights, part(i).weights, part(i).count(), ncclFloat, 0, ranks, stream));
  }
  void update(ncclComm_t ranks, cudaStream_t stream) {
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; i++)
      NCCL(ncclAllReduce(part(i).gradients, part(i).gradients, part(i).count(), ncclFloat, ncclAvg, ranks,
                         stream));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2; i++) {
      Layer& layer = part(i);
      adam_step<<<blocks(layer.count()), kThreads, 0, stream>>>(layer.weights, layer.gradients, m[i], v[i],
                                                                layer.count());
      forget(layer, stream);
    }
  }
  void forget(Layer& layer, cudaStream_t stream) {
    CUDA(cudaMemsetAsync(layer.gradients, 0, layer.bytes(), stream));
  }
};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Ranks ranks(argv[1]);
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  const int noise = 64, sample = 256;
  Network critic(sample, 256, 16), generator(noise, 128, sample);
  Batch batch(sample, 1 + ranks.rank);
  float *z = device_floats(kBatch * noise), *loss = device_floats(1);
  critic.share(ranks.all, stream);
  generator.share(ranks.all, stream);
  auto judge = [&](const float* samples) {
    const float* verdict = critic.forward(samples, stream);
    loss_forward_backward<<<blocks(kBatch * 16), kThreads, 0, stream>>>(verdict, critic.second.dy, loss, 16);
    return critic.backward(samples, critic.second.dy, stream);
  };
  for (int step = 0; step < atoi(argv[2]); step++) {
    judge(batch.next(stream));
    draw_noise<<<blocks(kBatch * noise), kThreads, 0, stream>>>(z, kBatch * noise,
                                                                step * ranks.world + ranks.rank);
    judge(generator.forward(z, stream));
    critic.update(ranks.all, stream);
    const float* made_up = generator.forward(z, stream);
    generator.backward(z, judge(made_up), stream);
    generator.update(ranks.all, stream);
    // What the generator's pass has left in the critic.
    for (int i = 0; i < 2; i++) critic.forget(critic.part(i), stream);
    printf("step %d: loss %f\n", step, read_loss(loss, stream));
  }
  return 0;
}
