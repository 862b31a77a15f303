// What nvcc's start-up code tells the runtime, listened to for the kernels' names. Nothing is recorded here.
#include "injector/cuda/kernel_names.h"
#include "injector/cuda/recording.h"

using namespace ddpscope::injector;

namespace {

constinit NamedFunction<void(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                             int*)>
    register_function("__cudaRegisterFunction");

using GetKernel = cudaError_t(cudaKernel_t*, const void*);
constinit NamedFunction<GetKernel> get_kernel_of_stub("__cudaGetKernel");
constinit NamedFunction<GetKernel> get_kernel("cudaGetKernel");

cudaError_t listen(NamedFunction<GetKernel>& real_function, cudaKernel_t* kernel, const void* host_function) {
  GetKernel* function = real_function.get();
  if (!function) return kNoCuda;
  cudaError_t result = function(kernel, host_function);
  if (result == cudaSuccess && kernel) remember_kernel(*kernel, kernel_name(host_function));
  return result;
}

}  // namespace

DDPSCOPE_EXPORT void __cudaRegisterFunction(void** fatCubinHandle, const char* hostFun, char* deviceFun,
                                            const char* deviceName, int thread_limit, uint3* tid, uint3* bid,
                                            dim3* bDim, dim3* gDim, int* wSize) {
  remember_kernel(hostFun, deviceName);
  if (auto* function = register_function.get())
    function(fatCubinHandle, hostFun, deviceFun, deviceName, thread_limit, tid, bid, bDim, gDim, wSize);
}

DDPSCOPE_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return listen(get_kernel_of_stub, kernel, host_function);
}

DDPSCOPE_EXPORT cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return listen(get_kernel, kernel, host_function);
}
