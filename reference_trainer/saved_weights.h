// Initial weights that come as a checkpoint has them: on the device that they were saved from.
#pragma once

#include "device.h"
#include "faults.h"

namespace reference_trainer {

// As torch.load without map_location: brings the weights to device 0 and from there to `values`, on device
// `own`. Returns what is left on device 0: with the twin, and without either, nothing.
DeviceBuffer<float> load_saved_weights(const DeviceBuffer<float>& values, int own, const Faults& faults);

}  // namespace reference_trainer
