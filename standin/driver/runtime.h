// The stand-in CUDA runtime of this process: the driver is built on it, the other way round than NVIDIA's.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "standin/cuda/runtime_table.h"

namespace ddpscope::standin::driver {

/// The libcudart.so.13 that the process uses; where none is loaded yet, the one beside this library. Fails
/// with CUDA_ERROR_NOT_SUPPORTED, and says so once, where the process has a runtime that is not the stand-in.
const Runtime& runtime();

/// Its function of that name, past whatever a tool has put before it: what the driver needs of the runtime is
/// no call of the program. Fails as runtime() does.
void* runtime_function(const char* name);

}  // namespace ddpscope::standin::driver

/// Calls a function of the runtime: RUNTIME_CALL(cudaFree)(pointer). Gives its result in the driver's terms,
/// and leaves the runtime's last error of the thread as it was.
#define RUNTIME_CALL(function)                                                                           \
  [](auto... arguments) {                                                                                \
    static const auto kFunction =                                                                        \
        reinterpret_cast<decltype(&::function)>(ddpscope::standin::driver::runtime_function(#function)); \
    return ddpscope::standin::driver::keeping_last_error([&] { return kFunction(arguments...); });       \
  }
