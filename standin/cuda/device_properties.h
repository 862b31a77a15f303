// What a device of the stand-in says of itself.
#pragma once

#include <driver_types.h>

namespace ddpscope::standin {

/// The properties of the host's device of that number: those of a GPU of compute capability 8.0, where a
/// program may depend on them.
cudaDeviceProp describe(int physical);

/// One attribute, from the properties. Fails with cudaErrorInvalidValue where the attribute is unknown.
int attribute(const cudaDeviceProp& properties, cudaDeviceAttr attr);

}  // namespace ddpscope::standin
