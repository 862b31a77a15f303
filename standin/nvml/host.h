// The devices of the host, as the stand-in runtime describes them. NVML sees all of them, whatever
// CUDA_VISIBLE_DEVICES says.
#pragma once

#include <driver_types.h>
#include <nvml.h>

#include "standin/cuda/runtime_table.h"

namespace ddpscope::standin::nvml {

/// The libcudart.so.13 that the process uses; where none is loaded yet, the one beside this library. Fails
/// with NVML_ERROR_DRIVER_NOT_LOADED, and says so once, where the process has a runtime that is not the
/// stand-in.
const Runtime& runtime();

unsigned int device_count();

/// Fails with NVML_ERROR_INVALID_ARGUMENT.
nvmlDevice_t device_at(unsigned int index);

/// Fails with NVML_ERROR_INVALID_ARGUMENT.
unsigned int index_of(nvmlDevice_t device);

cudaDeviceProp properties_of(nvmlDevice_t device);

}  // namespace ddpscope::standin::nvml
