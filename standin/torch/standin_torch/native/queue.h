// Work in the current stream of a device.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>

namespace standin {

/// Queues `work` as one launch of `kernel` (standin_kernel()). What it throws ends the use of the device;
/// `name` says whose it was. It may run more than once, where a graph captured it.
void enqueue(const void* kernel, const std::string& name, c10::DeviceIndex device,
             std::function<void()> work);

/// Sleeps until all is done that was queued there.
void wait(c10::DeviceIndex device);

}  // namespace standin
