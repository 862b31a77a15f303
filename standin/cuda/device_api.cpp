// Entry points that count, choose, describe and wait for devices.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "standin/cuda/device.h"
#include "standin/cuda/device_properties.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

constexpr int kLimits = 7;
thread_local std::size_t limits[kLimits] = {1024, 1 << 20, 8 << 20, 2,
                                            2048, 128,     0};  // in order of cudaLimit

int pci_bus(const char* id) {
  unsigned domain = 0, bus = 0, device = 0;
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &device) == 3) return static_cast<int>(bus);
  require(std::sscanf(id, "%x:%x", &bus, &device) == 2, cudaErrorInvalidValue);
  return static_cast<int>(bus);
}

void require_peer(int peer) { require(&device_at(peer) != &current_device(), cudaErrorInvalidDevice); }

}  // namespace

extern "C" {

RUNTIME_API(cudaGetDeviceCount, (int* count), (count)) {
  const cudaError_t error = enter([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    *count = static_cast<int>(visible_devices().size());
    return cudaSuccess;
  });
  if (error == cudaErrorNoDevice && count) *count = 0;
  return error;
}

RUNTIME_API(cudaSetDevice, (int device), (device)) {
  return enter([&] {
    make_current(device_at(device));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaInitDevice,
            (int device, [[maybe_unused]] unsigned int init_flags, [[maybe_unused]] unsigned int flags),
            (device, init_flags, flags)) {
  return enter([&] {
    device_at(device).activate();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGetDevice, (int* device), (device)) {
  return enter([&] {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = chosen_device().ordinal();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaSetValidDevices, (int* devices, int count), (devices, count)) {
  return enter([&] {
    require(devices != nullptr || count == 0, cudaErrorInvalidValue);
    for (int i = 0; i < count; ++i) device_at(devices[i]);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaChooseDevice, (int* device, const cudaDeviceProp* wanted), (device, wanted)) {
  return enter([&] {
    require(device != nullptr && wanted != nullptr, cudaErrorInvalidValue);
    *device = 0;  // all are alike
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device)) {
  return enter([&] {
    require(properties != nullptr, cudaErrorInvalidValue);
    *properties = device_at(device).properties();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attr, int device), (value, attr, device)) {
  return enter([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    *value = attribute(device_at(device).properties(), attr);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetPCIBusId, (char* id, int length, int device), (id, length, device)) {
  return enter([&] {
    require(id != nullptr && length > 0, cudaErrorInvalidValue);
    const int bus = device_at(device).properties().pciBusID;
    const int written = std::snprintf(id, length, "0000:%02X:00.0", bus);
    require(written < length, cudaErrorInvalidValue);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetByPCIBusId, (int* device, const char* id), (device, id)) {
  return enter([&] {
    require(device != nullptr && id != nullptr, cudaErrorInvalidValue);
    const int bus = pci_bus(id);
    for (Device* candidate : visible_devices()) {
      if (candidate->properties().pciBusID != bus) continue;
      *device = candidate->ordinal();
      return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
  });
}

RUNTIME_API(cudaDeviceSynchronize, (), ()) {
  return enter([&] {
    WaitScope wait([] {
      return Synchronization{.kind = Synchronization::kDevice, .device = current_device().ordinal()};
    });
    if (captures_run()) refuse_wait(current_device());
    current_device().synchronize();
    return cudaSuccess;
  });
}

// The work is waited for; memory, streams and events stay valid, unlike on a GPU.
RUNTIME_API(cudaDeviceReset, (), ()) {
  return enter([&] {
    current_device().synchronize();
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest)) {
  return enter([&] {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaSetDeviceFlags, (unsigned int flags), (flags)) {
  return enter([&] {
    current_device().flags = flags;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGetDeviceFlags, (unsigned int* flags), (flags)) {
  return enter([&] {
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = chosen_device().flags | cudaDeviceMapHost;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetLimit, (size_t * value, cudaLimit limit), (value, limit)) {
  return enter([&] {
    require(value != nullptr && limit >= 0 && limit < kLimits, cudaErrorInvalidValue);
    *value = limits[limit];
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceSetLimit, (cudaLimit limit, size_t value), (limit, value)) {
  return enter([&] {
    require(limit >= 0 && limit < kLimits, cudaErrorInvalidValue);
    limits[limit] = value;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceGetCacheConfig, (cudaFuncCache * config), (config)) {
  return enter([&] {
    require(config != nullptr, cudaErrorInvalidValue);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceSetCacheConfig, ([[maybe_unused]] cudaFuncCache config), (config)) {
  return enter([] { return cudaSuccess; });
}

RUNTIME_API(cudaDeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer)) {
  return enter([&] {
    require(can != nullptr, cudaErrorInvalidValue);
    *can = &device_at(device) != &device_at(peer);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceEnablePeerAccess, (int peer, unsigned int flags), (peer, flags)) {
  return enter([&] {
    require(flags == 0, cudaErrorInvalidValue);
    require_peer(peer);
    const std::uint64_t before = current_device().peers_enabled.fetch_or(std::uint64_t{1} << peer);
    return before >> peer & 1 ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess;
  });
}

RUNTIME_API(cudaDeviceDisablePeerAccess, (int peer), (peer)) {
  return enter([&] {
    require_peer(peer);
    const std::uint64_t before = current_device().peers_enabled.fetch_and(~(std::uint64_t{1} << peer));
    return before >> peer & 1 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

RUNTIME_API(cudaDeviceGetP2PAttribute, (int* value, cudaDeviceP2PAttr attr, int source, int target),
            (value, attr, source, target)) {
  return enter([&] {
    require(value != nullptr && &device_at(source) != &device_at(target), cudaErrorInvalidValue);
    *value = attr == cudaDevP2PAttrAccessSupported;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaMemGetInfo, (size_t * free_bytes, size_t* total_bytes), (free_bytes, total_bytes)) {
  return enter([&] {
    require(free_bytes != nullptr && total_bytes != nullptr, cudaErrorInvalidValue);
    *total_bytes = kDeviceMemoryBytes;
    *free_bytes = kDeviceMemoryBytes - current_device().bytes_allocated;
    return cudaSuccess;
  });
}

}  // extern "C"
