// The device names of kernels, as the program registers them.
#pragma once

namespace ddpscope::injector {

// The mangled device name of what a launch names (the host stub's address or a cudaKernel_t); nullptr if it
// was not registered before our eyes. The name lives as long as the program's image.
const char* kernel_name(const void* function);

}  // namespace ddpscope::injector
