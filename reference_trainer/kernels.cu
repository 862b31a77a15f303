// The kernels proper: one generic shape, "one thread an item", with the CPU body beside it.
//
// A CUDA runtime that works on the CPU finds the body of kernel M as the exported symbol standin_cpu_M, and
// the sizes of its arguments as standin_cpu_M_sizes, ended by a zero. With a real CUDA runtime nobody asks
// for them.
#include <stdexcept>

#include "kernel_bodies.h"

namespace reference_trainer {
namespace {

constexpr int kThreads = 128;

template <typename Arguments>
void start(void (*kernel)(Arguments, int64_t), const Arguments& arguments, int64_t items,
           cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>((items + kThreads - 1) / kThreads);
  kernel<<<blocks, kThreads, 0, stream>>>(arguments, items);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorString(error));
  }
}

template <typename Arguments>
void run_on_cpu(void** arguments) {
  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);
  const int64_t items = *static_cast<const int64_t*>(arguments[1]);
  for (int64_t item = 0; item < items; ++item) run_item(a, item);
}

}  // namespace

// C names: a kernel's symbol is its own name, not a mangled one.
#define KERNEL(name, Arguments)                                                            \
  extern "C" __global__ void name(Arguments arguments, int64_t items) {                    \
    const int64_t item = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;      \
    if (item < items) run_item(arguments, item);                                           \
  }                                                                                        \
  extern "C" void standin_cpu_##name(void** arguments, const unsigned*, const unsigned*) { \
    run_on_cpu<Arguments>(arguments);                                                      \
  }                                                                                        \
  extern "C" {                                                                             \
  extern const size_t standin_cpu_##name##_sizes[];                                        \
  const size_t standin_cpu_##name##_sizes[] = {sizeof(Arguments), sizeof(int64_t), 0};     \
  }

KERNEL(embed_forward, EmbedForward)
KERNEL(embed_backward, EmbedBackward)
KERNEL(linear_forward, LinearForward)
KERNEL(linear_backward_input, LinearBackwardInput)
KERNEL(linear_backward_weight, LinearBackwardWeight)
KERNEL(linear_backward_bias, LinearBackwardBias)
KERNEL(tanh_forward, TanhForward)
KERNEL(tanh_backward, TanhBackward)
KERNEL(cross_entropy, CrossEntropy)
KERNEL(sum_losses, SumLosses)
KERNEL(adamw, AdamW)

void launch(const EmbedForward& a, cudaStream_t stream) {
  start(embed_forward, a, static_cast<int64_t>(a.batch.positions()) * a.batch.context, stream);
}
void launch(const EmbedBackward& a, int vocabulary, cudaStream_t stream) {
  start(embed_backward, a, vocabulary, stream);
}
void launch(const LinearForward& a, cudaStream_t stream) {
  start(linear_forward, a, static_cast<int64_t>(a.rows) * (a.outputs / kLanes), stream);
}
void launch(const LinearBackwardInput& a, cudaStream_t stream) {
  start(linear_backward_input, a, static_cast<int64_t>(a.rows) * a.inputs, stream);
}
void launch(const LinearBackwardWeight& a, cudaStream_t stream) {
  start(linear_backward_weight, a, static_cast<int64_t>(a.inputs) * (a.outputs / kLanes), stream);
}
void launch(const LinearBackwardBias& a, cudaStream_t stream) {
  start(linear_backward_bias, a, a.outputs / kLanes, stream);
}
void launch(const TanhForward& a, int64_t elements, cudaStream_t stream) {
  start(tanh_forward, a, elements, stream);
}
void launch(const TanhBackward& a, int64_t elements, cudaStream_t stream) {
  start(tanh_backward, a, elements, stream);
}
void launch(const CrossEntropy& a, cudaStream_t stream) {
  start(cross_entropy, a, a.batch.positions(), stream);
}
void launch(const SumLosses& a, cudaStream_t stream) { start(sum_losses, a, 1, stream); }
void launch(const AdamW& a, int64_t elements, cudaStream_t stream) { start(adamw, a, elements, stream); }

}  // namespace reference_trainer
