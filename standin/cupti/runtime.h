// The stand-in CUDA runtime of this process.
#pragma once

#include "standin/cuda/observer.h"
#include "standin/cuda/runtime_table.h"

namespace ddpscope::standin::cupti {

/// The libcudart.so.13 that the process uses; where none is loaded yet, the one beside this library, as the
/// real CUPTI loads the driver. Fails with CUPTI_ERROR_NOT_INITIALIZED, and says so once, where the process
/// has a runtime that is not the stand-in: nothing could be recorded.
const Runtime& runtime();

}  // namespace ddpscope::standin::cupti
