// Entry points that find functions of the driver by name.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "standin/cuda/beside.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

GetProcAddress find_lookup() {
  void* library = find_beside_us("libcuda.so.1");  // as NVIDIA's runtime loads its driver
  return library ? reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
}

// A name that is unknown is no error: the status says so (cuda_runtime_api.h).
cudaError_t find(const char* symbol, void** function, unsigned version, unsigned long long flags,
                 cudaDriverEntryPointQueryResult* status) {
  return enter([&] {
    require(symbol != nullptr && function != nullptr, cudaErrorInvalidValue);
    static const GetProcAddress kLookUp = find_lookup();
    *function = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (kLookUp) kLookUp(symbol, function, static_cast<int>(version), flags, &found);
    if (status) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    return *function || status ? cudaSuccess : cudaErrorSymbolNotFound;
  });
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGetDriverEntryPoint,
            (const char* symbol, void** function, unsigned long long flags,
             cudaDriverEntryPointQueryResult* status),
            (symbol, function, flags, status)) {
  return find(symbol, function, CUDART_VERSION, flags, status);
}

RUNTIME_API(cudaGetDriverEntryPointByVersion,
            (const char* symbol, void** function, unsigned int version, unsigned long long flags,
             cudaDriverEntryPointQueryResult* status),
            (symbol, function, version, flags, status)) {
  return find(symbol, function, version, flags, status);
}

}  // extern "C"
