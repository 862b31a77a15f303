// What nvcc's start-up code tells the runtime: fat binaries, kernels, device variables.
// It runs before main and in dlopen, so nothing here needs a device; in a forked child that cannot use CUDA
// any more the locks may be held for ever, and nothing is done.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/kernel.h"
#include "standin/cuda/memory.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace ddpscope::standin {
namespace {

struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, Kernel*> by_function;  // host-side stubs, and the kernels' own addresses
};

Kernels& kernels() {
  static auto* instance = new Kernels;
  return *instance;
}

}  // namespace

Kernel& find_kernel(const void* function) {
  std::lock_guard lock(kernels().mutex);
  const auto found = kernels().by_function.find(function);
  require(found != kernels().by_function.end(), cudaErrorInvalidDeviceFunction);
  return *found->second;
}

Allocation find_variable(const void* symbol) {
  const auto variable = find_allocation(symbol);
  require(variable && variable->is_variable() && variable->base == symbol, cudaErrorInvalidSymbol);
  return *variable;
}

char* inside_variable(const void* symbol, std::size_t offset, std::size_t bytes) {
  const Allocation variable = find_variable(symbol);
  require(offset <= variable.bytes && bytes <= variable.bytes - offset, cudaErrorInvalidValue);
  return variable.base + offset;
}

}  // namespace ddpscope::standin

extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary) { return new void*(fat_binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}  // runs at exit, while streams may still be working
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void**, const char* host_function, char*, const char* mangled_name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  std::lock_guard lock(kernels().mutex);
  auto* kernel = new Kernel(mangled_name, host_function);
  kernels().by_function[host_function] = kernel;
  kernels().by_function[kernel] = kernel;
}

// The host-side shadow of the variable is its memory.
void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int, size_t bytes, int, int) {
  if (forked_from_user()) return;
  register_range(host_variable, bytes, MemoryKind::kSymbol, nullptr, 0);
}

// `host_pointer` is what the program reads the variable through; nothing else of it exists on the host.
void __cudaRegisterManagedVar(void**, void** host_pointer, char*, const char*, int, size_t bytes, int, int) {
  if (forked_from_user()) return;
  *host_pointer = std::calloc(1, bytes);
  register_range(*host_pointer, bytes, MemoryKind::kManagedSymbol, nullptr, 0);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  if (forked_from_user()) return record_error(cudaErrorInitializationError);
  try {
    *kernel = reinterpret_cast<cudaKernel_t>(&find_kernel(host_function));
    return cudaSuccess;
  } catch (const Failure& failure) {
    return record_error(failure.code);
  }
}

RUNTIME_API(cudaGetKernel, (cudaKernel_t * kernel, const void* host_function), (kernel, host_function)) {
  return enter([&] {
    require(kernel != nullptr, cudaErrorInvalidValue);
    return __cudaGetKernel(kernel, host_function);
  });
}

RUNTIME_API(cudaGetSymbolAddress, (void** address, const void* symbol), (address, symbol)) {
  return enter([&] {
    require(address != nullptr, cudaErrorInvalidValue);
    *address = find_variable(symbol).base;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGetSymbolSize, (size_t * bytes, const void* symbol), (bytes, symbol)) {
  return enter([&] {
    require(bytes != nullptr, cudaErrorInvalidValue);
    *bytes = find_variable(symbol).bytes;
    return cudaSuccess;
  });
}

}  // extern "C"
