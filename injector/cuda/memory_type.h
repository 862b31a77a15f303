// Whose memory an address is.
#pragma once
#include <cuda_runtime_api.h>

namespace ddpscope::injector {

// As CUDA says, which is asked inside VendorCall only. cudaMemoryTypeManaged where it cannot be asked: such
// memory moves when it is looked at, and is left alone.
cudaMemoryType memory_type(const void* address);

}  // namespace ddpscope::injector
