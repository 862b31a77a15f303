// Which records CUPTI is to make: kernels, copies and fills, and of the calls only those that enqueue some,
// because an external correlation id comes with a call's record.
#pragma once
#include "injector/device_times/cupti_library.h"

namespace ddpscope::injector {

CUptiResult enable_cupti_kinds(const Cupti& cupti);  // whether kernels are recorded
void disable_cupti_kinds(const Cupti& cupti);
bool is_cupti_kind(CUpti_ActivityKind kind);  // of those above

}  // namespace ddpscope::injector
