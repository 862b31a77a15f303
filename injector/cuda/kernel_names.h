// Which kernel a launch enqueues: the mangled names that programs register for their kernels.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// `function` is the host-side stub or the cudaKernel_t; `name` stays where the program has it.
void remember_kernel(const void* function, const char* name);

// nullptr if it was never registered.
const char* kernel_name(const void* function);

// The name's id in the trace, 0 if there is none. Must be called inside OwnWork.
std::uint32_t kernel_name_id(trace::FileWriter& file, const void* function);

}  // namespace ddpscope::injector
