// Launches of kernels, host functions and graphs.
#include "injector/cuda/kernels.h"
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;
using ddpscope::trace::payload::DeviceOrder;
using ddpscope::trace::payload::Launch;

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);

namespace {

std::uint32_t volume(const dim3& size) { return size.x * size.y * size.z; }

// The name goes into the trace's string table, once.
std::uint32_t name_id(const void* function) {
  const char* name = kernel_name(function);
  ddpscope::trace::FileWriter* file = name ? recorder(Weight::kOpens) : nullptr;
  OwnWork work(file);
  return work ? this_thread.writer.intern(*file, name) : 0;
}

template <Call call, class... Params, class... Args>
cudaError_t launch(cudaError_t (*self)(Params...), const void* function, const dim3& grid, const dim3& block,
                   cudaStream_t stream, Args... args) {
  if (inside_vendor_call()) return cuda_call<call>(self, 0, {}, args...);
  Launch payload{
      bits(function), bits(stream), name_id(function), 0, volume(grid), volume(block), device_code(), 0, 0};
  return cuda_call<call>(self, fold_key(payload.function, payload.stream, payload.blocks, payload.threads),
                         payload, args...);
}

template <Call call, class... Params, class... Args>
cudaError_t enqueue(cudaError_t (*self)(Params...), const void* what, cudaStream_t stream,
                    std::uint32_t flags, Args... args) {
  return cuda_call<call>(self, 0, DeviceOrder{bits(stream), bits(what), flags, 0, device_code(), 0, 0},
                         args...);
}

}  // namespace

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                             size_t sharedMem, cudaStream_t stream) {
  return launch<Call::cudaLaunchKernel>(&cudaLaunchKernel, func, gridDim, blockDim, stream, func, gridDim,
                                        blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args,
                                               size_t sharedMem, cudaStream_t stream) {
  return launch<Call::__cudaLaunchKernel>(&__cudaLaunchKernel, kernel, gridDim, blockDim, stream, kernel,
                                          gridDim, blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func,
                                                void** args) {
  return launch<Call::cudaLaunchKernelExC>(&cudaLaunchKernelExC, func, config ? config->gridDim : dim3{},
                                           config ? config->blockDim : dim3{},
                                           config ? config->stream : nullptr, config, func, args);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                                        void** args, size_t sharedMem, cudaStream_t stream) {
  return launch<Call::cudaLaunchCooperativeKernel>(&cudaLaunchCooperativeKernel, func, gridDim, blockDim,
                                                   stream, func, gridDim, blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return enqueue<Call::cudaLaunchHostFunc>(&cudaLaunchHostFunc, reinterpret_cast<const void*>(fn), stream, 0,
                                           stream, fn, userData);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                  void* userData, unsigned int flags) {
  return enqueue<Call::cudaStreamAddCallback>(&cudaStreamAddCallback, reinterpret_cast<const void*>(callback),
                                              stream, flags, stream, callback, userData, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return enqueue<Call::cudaGraphLaunch>(&cudaGraphLaunch, graphExec, stream, 0, graphExec, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return enqueue<Call::cudaStreamBeginCapture>(&cudaStreamBeginCapture, nullptr, stream, mode, stream, mode);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return enqueue<Call::cudaStreamEndCapture>(&cudaStreamEndCapture, nullptr, stream, 0, stream, pGraph);
}
