// Watches the registration of kernels: host stub, or kernel handle, to device name.
#include "injector/cuda/kernels.h"

#include <dlfcn.h>

#include "injector/cuda/recording.h"

// What nvcc's host code calls; declared in its own headers for its own eyes only.
extern "C" {
void __cudaRegisterFunction(void** fat_binary, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* tid, uint3* bid, dim3* block,
                            dim3* grid, int* warp_size);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
}

namespace ddpscope::injector {
namespace {

struct Named {
  const void* function;
  const char* name;
};

// libtorch_cuda registers more than 100,000 kernels. Static: no page of it exists before it is written.
constexpr std::size_t kPlaces = std::size_t{1} << 19;
constexpr std::size_t kProbes = 64;
Named places[kPlaces];

std::size_t hash(const void* function) { return (bits(function) >> 3) * 0x9E3779B97F4A7C15u >> 45; }

void remember(const void* function, const char* name) {
  for (std::size_t probe = 0; function && probe < kProbes; ++probe) {
    Named& place = places[(hash(function) + probe) % kPlaces];
    const void* expected = nullptr;
    bool taken = __atomic_compare_exchange_n(&place.function, &expected, function, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE);
    if (!taken && expected != function) continue;
    __atomic_store_n(&place.name, name, __ATOMIC_RELEASE);
    return;
  }
}

}  // namespace

const char* kernel_name(const void* function) {
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const Named& place = places[(hash(function) + probe) % kPlaces];
    const void* present = __atomic_load_n(&place.function, __ATOMIC_ACQUIRE);
    if (present == function) return __atomic_load_n(&place.name, __ATOMIC_ACQUIRE);
    if (!present) return nullptr;
  }
  return nullptr;
}

}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT void __cudaRegisterFunction(void** fat_binary, const char* host_function,
                                            char* device_function, const char* device_name, int thread_limit,
                                            uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp_size) {
  remember(host_function, device_name);
  static decltype(&__cudaRegisterFunction) function = nullptr;
  if (find_real(&function, "__cudaRegisterFunction", __builtin_return_address(0)))
    function(fat_binary, host_function, device_function, device_name, thread_limit, tid, bid, block, grid,
             warp_size);
}

DDPSCOPE_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  static decltype(&__cudaGetKernel) function = nullptr;
  if (!find_real(&function, "__cudaGetKernel", __builtin_return_address(0))) return kNoCuda;
  cudaError_t result = function(kernel, host_function);
  if (result == cudaSuccess && kernel) remember(*kernel, kernel_name(host_function));
  return result;
}
