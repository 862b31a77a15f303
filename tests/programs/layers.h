// Fully connected layers on the device, enough of them for small networks.
#pragma once

#include "ranks.h"

static const int kBatch = 64, kThreads = 256;

inline int blocks(int items) { return (items + kThreads - 1) / kThreads; }

inline float* device_floats(size_t count) {
  float* data;
  CUDA(cudaMalloc((void**)&data, count * sizeof(float)));
  CUDA(cudaMemset(data, 0, count * sizeof(float)));
  return data;
}

__global__ static void layer_forward(const float* x, const float* w, float* y, int inputs, int outputs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kBatch * outputs) return;
  float sum = 0;
  for (int k = 0; k < inputs; k++) sum += x[i / outputs * inputs + k] * w[k * outputs + i % outputs];
  y[i] = fmaxf(sum, 0);
}

__global__ static void weight_gradient(const float* x, const float* dy, float* dw, int inputs, int outputs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= inputs * outputs) return;
  float sum = 0;
  for (int b = 0; b < kBatch; b++) sum += x[b * inputs + i / outputs] * dy[b * outputs + i % outputs];
  dw[i] += sum;
}

__global__ static void input_gradient(const float* dy, const float* w, float* dx, int inputs, int outputs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kBatch * inputs) return;
  float sum = 0;
  for (int k = 0; k < outputs; k++) sum += dy[i / inputs * outputs + k] * w[i % inputs * outputs + k];
  dx[i] = sum;
}

__global__ static void loss_forward_backward(const float* y, float* dy, float* loss, int outputs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kBatch * outputs) return;
  dy[i] = y[i] - (i % outputs == 0);
  atomicAdd(loss, dy[i] * dy[i] / kBatch);
}

struct Layer {
  int inputs, outputs;
  float *weights, *gradients, *y, *dy, *dx;

  Layer(int inputs, int outputs)
      : inputs(inputs),
        outputs(outputs),
        weights(device_floats(count())),
        gradients(device_floats(count())),
        y(device_floats(kBatch * outputs)),
        dy(device_floats(kBatch * outputs)),
        dx(device_floats(kBatch * inputs)) {}

  int count() const { return inputs * outputs; }
  size_t bytes() const { return count() * sizeof(float); }

  const float* forward(const float* x, cudaStream_t stream) const {
    layer_forward<<<blocks(kBatch * outputs), kThreads, 0, stream>>>(x, weights, y, inputs, outputs);
    return y;
  }
  const float* backward(const float* x, const float* from, cudaStream_t stream) const {
    weight_gradient<<<blocks(count()), kThreads, 0, stream>>>(x, from, gradients, inputs, outputs);
    input_gradient<<<blocks(kBatch * inputs), kThreads, 0, stream>>>(from, weights, dx, inputs, outputs);
    return dx;
  }
};

// A batch in pinned memory and on the device; what it holds differs from rank to rank unless seeds are equal.
struct Batch {
  float *host, *data;
  size_t count;
  unsigned seed;

  Batch(int features, unsigned seed)
      : data(device_floats(kBatch * features)), count(kBatch * features), seed(seed) {
    CUDA(cudaMallocHost((void**)&host, count * sizeof(float)));
  }
  const float* next(cudaStream_t stream) {
    CUDA(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++) host[i] = (seed = seed * 1664525u + 1013904223u) * 0x1p-32f;
    CUDA(cudaMemcpyAsync(data, host, count * sizeof(float), cudaMemcpyHostToDevice, stream));
    return data;
  }
};

inline float read_loss(float* loss, cudaStream_t stream) {
  float value;
  CUDA(cudaMemcpyAsync(&value, loss, sizeof value, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemsetAsync(loss, 0, sizeof *loss, stream));
  return value;
}
