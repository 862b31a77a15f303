// Kernels and functions of the host that are enqueued.
#include "injector/cuda/launch_call.h"

using namespace ddpscope::injector;

// nvcc 13's stubs launch by this one; no header declares it.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                             size_t sharedMem, cudaStream_t stream) {
  return launch<Call::cudaLaunchKernel>(&cudaLaunchKernel, {func, gridDim, blockDim, stream}, func, gridDim,
                                        blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func,
                                                void** args) {
  return launch<Call::cudaLaunchKernelExC>(&cudaLaunchKernelExC, described(config, func), config, func, args);
}

DDPSCOPE_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args,
                                               size_t sharedMem, cudaStream_t stream) {
  return launch<Call::__cudaLaunchKernel>(&__cudaLaunchKernel, {kernel, gridDim, blockDim, stream}, kernel,
                                          gridDim, blockDim, args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                                        void** args, size_t sharedMem, cudaStream_t stream) {
  return launch<Call::cudaLaunchCooperativeKernel>(&cudaLaunchCooperativeKernel,
                                                   {func, gridDim, blockDim, stream}, func, gridDim, blockDim,
                                                   args, sharedMem, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return order<Call::cudaLaunchHostFunc>(&cudaLaunchHostFunc, {stream, reinterpret_cast<void*>(fn)}, stream,
                                         fn, userData);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                  void* userData, unsigned int flags) {
  return order<Call::cudaStreamAddCallback>(&cudaStreamAddCallback,
                                            {stream, reinterpret_cast<void*>(callback), flags}, stream,
                                            callback, userData, flags);
}
