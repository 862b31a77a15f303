// Callback ids: NVIDIA's numbers for the functions of the runtime and the driver.
#pragma once

#include <cupti.h>

#include "standin/cuda/observer.h"

namespace ddpscope::standin::cupti {

inline constexpr CUpti_CallbackId kRuntimeIds = CUPTI_RUNTIME_TRACE_CBID_SIZE;
inline constexpr CUpti_CallbackId kDriverIds = CUPTI_DRIVER_TRACE_CBID_SIZE;

constexpr CUpti_CallbackId ids_of(Api api) { return api == Api::kRuntime ? kRuntimeIds : kDriverIds; }

/// The id of a function as the library exports it: of several versions the newest. 0 (INVALID) if it has
/// none.
CUpti_CallbackId callback_id(Api api, const char* function);

/// The name as NVIDIA's header has it ("cudaMalloc_v3020"); null where the id is none.
const char* callback_name(Api api, CUpti_CallbackId id);

}  // namespace ddpscope::standin::cupti
