// Initialisation, and errors between the runtime and the driver.
#include "standin/driver/boundary.h"

#include <atomic>

namespace ddpscope::standin::driver {
namespace {

std::atomic<bool> initialised{false};

template <class Function>
Function* raw(const char* name) {
  return reinterpret_cast<Function*>(runtime_function(name));
}

}  // namespace

// From 100 on the two enumerations have the same numbers (driver_types.h); below, those that differ are bad
// arguments.
CUresult driver_result(cudaError_t error) {
  if (error <= cudaErrorCudartUnloading || error >= cudaErrorStubLibrary) return static_cast<CUresult>(error);
  return CUDA_ERROR_INVALID_VALUE;
}

cudaError_t peek_last_error() {
  static auto* const kPeek = raw<cudaError_t()>("cudaPeekAtLastError");
  return kPeek();
}

CUresult keep_last_error(cudaError_t before, cudaError_t result) {
  static auto* const kClear = raw<cudaError_t()>("cudaGetLastError");
  if (before == cudaSuccess) kClear();
  return driver_result(result);
}

void initialise() { initialised.store(true, std::memory_order_relaxed); }

void require_initialised() {
  require(initialised.load(std::memory_order_relaxed) || runtime().used(), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace ddpscope::standin::driver
