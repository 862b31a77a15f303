// What a device of the stand-in says of itself.
#pragma once

#include <driver_types.h>

namespace ddpscope::standin {

class Device;

/// The properties of a device: those of a GPU of compute capability 8.0, where a program may depend on them.
cudaDeviceProp describe(const Device& device);

/// One attribute, from the properties. Fails with cudaErrorInvalidValue where the attribute is unknown.
int attribute(const cudaDeviceProp& properties, cudaDeviceAttr attr);

}  // namespace ddpscope::standin
