// Entry points for contexts. A device has its primary context only, and the thread's current context is its
// current device of the runtime.
#include "standin/driver/contexts.h"

#include <vector>

#include "standin/driver/boundary.h"

namespace ddpscope::standin::driver {
namespace {

thread_local std::vector<CUcontext> put_aside;  // by cuCtxPushCurrent

void set_current(CUcontext context) {
  if (context)
    check(RUNTIME_CALL(cudaSetDevice)(device_of(context)));
  else
    runtime().leave_context();
}

}  // namespace

int device_count() {
  int count = 0;
  check(RUNTIME_CALL(cudaGetDeviceCount)(&count));
  return count;
}

void require_device(CUdevice device) {
  require(device >= 0 && device < device_count(), CUDA_ERROR_INVALID_DEVICE);
}

CUcontext primary_context(CUdevice device) {
  require_device(device);
  return runtime().context(device);
}

CUdevice device_of(CUcontext context) {
  for (int device = 0; context && device < device_count(); ++device) {
    if (runtime().context(device) == context) return device;
  }
  throw Failure{CUDA_ERROR_INVALID_CONTEXT};
}

CUcontext current_context() {
  return runtime().thread_has_context() ? runtime().context(runtime().current_device()) : nullptr;
}

CUdevice current_device() {
  const CUcontext context = current_context();
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return device_of(context);
}

}  // namespace ddpscope::standin::driver

using namespace ddpscope::standin::driver;

extern "C" {

CUresult cuCtxGetCurrent(CUcontext* context) {
  return enter([&] {
    require(context != nullptr, CUDA_ERROR_INVALID_VALUE);
    *context = current_context();
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return enter([&] { set_current(context); });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return enter([&] {
    device_of(context);
    put_aside.push_back(current_context());
    set_current(context);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return enter([&] {
    const CUcontext top = current_context();
    require(top != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    if (put_aside.empty()) {
      set_current(nullptr);
    } else {
      set_current(put_aside.back());
      put_aside.pop_back();
    }
    if (context) *context = top;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return enter([&] {
    require(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    *device = current_device();
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return enter([&] {
    require(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    *device = context ? device_of(context) : current_device();
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return enter([&] {
    require(id != nullptr, CUDA_ERROR_INVALID_VALUE);
    *id = static_cast<unsigned long long>(context ? device_of(context) : current_device()) + 1;
  });
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  return enter([&] {
    require(version != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (context) device_of(context);
    *version = 3020;  // of contexts since CUDA 3.2
  });
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  return enter([&] {
    current_device();
    check(RUNTIME_CALL(cudaGetDeviceFlags)(flags));
  });
}

CUresult cuCtxSynchronize() {
  return enter([&] {
    current_device();
    check(RUNTIME_CALL(cudaDeviceSynchronize)());
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return enter([&] { check(RUNTIME_CALL(cudaDeviceGetStreamPriorityRange)(least, greatest)); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return enter([&] {
    require(context != nullptr, CUDA_ERROR_INVALID_VALUE);
    *context = primary_context(device);
    check(RUNTIME_CALL(cudaInitDevice)(device, 0u, 0u));
  });
}

// The context stays: memory and streams of the runtime are in it.
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return enter([&] { require_device(device); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, [[maybe_unused]] unsigned int flags) {
  return enter([&] { require_device(device); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return enter([&] {
    require_device(device);
    require(flags != nullptr && active != nullptr, CUDA_ERROR_INVALID_VALUE);
    *flags = CU_CTX_SCHED_AUTO;
    *active = runtime().active(device);
  });
}

}  // extern "C"
