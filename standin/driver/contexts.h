// Contexts: each device has one, its primary context.
#pragma once

#include <cuda.h>

namespace ddpscope::standin::driver {

/// Fails with CUDA_ERROR_INVALID_DEVICE.
CUcontext primary_context(CUdevice device);

/// Fails with CUDA_ERROR_INVALID_CONTEXT.
CUdevice device_of(CUcontext context);

/// The calling thread's; null while it has none.
CUcontext current_context();

/// Fails with CUDA_ERROR_INVALID_CONTEXT where the thread has none.
CUdevice current_device();

int device_count();
void require_device(CUdevice device);

}  // namespace ddpscope::standin::driver
