// Preloaded: gives a program device memory that the host cannot touch, as a GPU's. Its addresses are far from
// any memory; copies find what is meant.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>

namespace {

constexpr std::uintptr_t kFar = std::uintptr_t{1} << 60;  // no address of a process

void* far(void* memory) {
  return memory ? reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) | kFar) : nullptr;
}
template <class T>
T* near(T* memory) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(memory) & ~kFar);
}

template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define REAL(function) real(&function, #function)

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const cudaError_t error = REAL(cudaMalloc)(memory, bytes);
  if (error == cudaSuccess) *memory = far(*memory);
  return error;
}

cudaError_t cudaFree(void* memory) { return REAL(cudaFree)(near(memory)); }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return REAL(cudaMemcpy)(near(to), near(from), bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return REAL(cudaMemcpyAsync)(near(to), near(from), bytes, kind, stream);
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return REAL(cudaMemset)(near(memory), value, bytes);
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return REAL(cudaMemsetAsync)(near(memory), value, bytes, stream);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  return REAL(cudaPointerGetAttributes)(attributes, near(memory));
}
