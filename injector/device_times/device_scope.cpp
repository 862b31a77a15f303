// What is current is asked of CUDA: the driver's interface changes it past our hooks.
#include "injector/device_times/device_scope.h"

#include "injector/device_times/cuda_events.h"

namespace ddpscope::injector {

void DeviceScope::enter(int device) {
  int current = kUnknownDevice;
  if (!CudaEvents::succeeded(CudaEvents::get_device.get()(&current))) return;
  is_current_ = current == device;
  bool returned = static_cast<unsigned>(current) < kTimedDevices && (this_thread.returned_to >> current & 1);
  if (is_current_ || !returned) return;
  if (!CudaEvents::succeeded(CudaEvents::set_device.get()(device))) return;
  is_current_ = true;
  before_ = current;
}

void DeviceScope::leave() { CudaEvents::succeeded(CudaEvents::set_device.get()(before_)); }

}  // namespace ddpscope::injector
