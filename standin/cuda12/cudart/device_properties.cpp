// The description of a device as CUDA 12 lays it out: CUDA 13 removed members from the middle of it.
#include <cstddef>
#include <cstring>

#include "standin/cuda12/cudart/newer.h"

namespace {

struct Properties {
#define KEPT(member) decltype(cudaDeviceProp::member) member;
#define REMOVED(member, attribute) int member;
#include "standin/cuda12/cudart/device_properties.def"
#undef KEPT
#undef REMOVED
  int reserved[63];
};

static_assert(sizeof(Properties) == 1032);

cudaError_t describe(Properties& p, int device) {
  cudaDeviceProp newer{};
  const cudaError_t error = NEWER(cudaGetDeviceProperties)(&newer, device);
  if (error != cudaSuccess) return error;
  p = {};
#define KEPT(member) std::memcpy(&p.member, &newer.member, sizeof p.member);
#define REMOVED(member, attribute) NEWER(cudaDeviceGetAttribute)(&p.member, attribute, device);
#include "standin/cuda12/cudart/device_properties.def"
  return cudaSuccess;
}

cudaError_t describe_into(void* room, std::size_t bytes, int device) {
  if (!room) return NEWER(cudaGetDeviceProperties)(nullptr, device);
  Properties p;
  const cudaError_t error = describe(p, device);
  if (error == cudaSuccess) std::memcpy(room, &p, bytes);
  return error;
}

}  // namespace

// Programs built for CUDA 12 call the second form. The first one is that of CUDA 11, which ended earlier.
OLDER(cudaGetDeviceProperties, (void* properties, int device)) {
  return describe_into(properties, offsetof(Properties, hostRegisterSupported), device);
}

OLDER(cudaGetDeviceProperties_v2, (void* properties, int device)) {
  return describe_into(properties, sizeof(Properties), device);
}
