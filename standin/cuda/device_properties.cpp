// What a device of the stand-in says of itself. Limits that programs size their launches by are those of a
// GPU of compute capability 8.0; what the stand-in does not have (textures, surfaces, clusters) reads as
// zero.
#include "standin/cuda/device_properties.h"

#include <cstddef>
#include <cstdio>
#include <utility>

#include "standin/cuda/device.h"
#include "standin/cuda/entry.h"

namespace ddpscope::standin {
namespace {

void describe_launch_limits(cudaDeviceProp& p) {
  p.major = 8;
  p.minor = 0;
  p.warpSize = 32;
  p.multiProcessorCount = 108;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.sharedMemPerBlock = 48 << 10;
  p.sharedMemPerBlockOptin = 163 << 10;
  p.sharedMemPerMultiprocessor = 164 << 10;
  p.reservedSharedMemPerBlock = 1 << 10;
  p.concurrentKernels = 1;
  p.cooperativeLaunch = 1;
  p.streamPrioritiesSupported = 1;
}

void describe_memory(cudaDeviceProp& p) {
  p.totalGlobalMem = kDeviceMemoryBytes;
  p.totalConstMem = 64 << 10;
  p.memPitch = 0x7fffffff;
  p.memoryBusWidth = 5120;
  p.l2CacheSize = 40 << 20;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.surfaceAlignment = 512;
  p.asyncEngineCount = 3;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.canMapHostMemory = 1;
  p.unifiedAddressing = 1;
  p.managedMemory = p.concurrentManagedAccess = p.directManagedMemAccessFromHost = 1;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.hostNumaId = -1;
  p.deviceNumaId = -1;
}

// Attributes that are a property: those of the features the stand-in has.
constexpr std::pair<cudaDeviceAttr, int cudaDeviceProp::*> kNumbers[] = {
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMaxRegistersPerBlock, &cudaDeviceProp::regsPerBlock},
    {cudaDevAttrMaxRegistersPerMultiprocessor, &cudaDeviceProp::regsPerMultiprocessor},
    {cudaDevAttrAsyncEngineCount, &cudaDeviceProp::asyncEngineCount},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrCanMapHostMemory, &cudaDeviceProp::canMapHostMemory},
    {cudaDevAttrConcurrentKernels, &cudaDeviceProp::concurrentKernels},
    {cudaDevAttrPciBusId, &cudaDeviceProp::pciBusID},
    {cudaDevAttrGlobalMemoryBusWidth, &cudaDeviceProp::memoryBusWidth},
    {cudaDevAttrL2CacheSize, &cudaDeviceProp::l2CacheSize},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrStreamPrioritiesSupported, &cudaDeviceProp::streamPrioritiesSupported},
    {cudaDevAttrGlobalL1CacheSupported, &cudaDeviceProp::globalL1CacheSupported},
    {cudaDevAttrLocalL1CacheSupported, &cudaDeviceProp::localL1CacheSupported},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
    {cudaDevAttrDirectManagedMemAccessFromHost, &cudaDeviceProp::directManagedMemAccessFromHost},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {cudaDevAttrHostRegisterSupported, &cudaDeviceProp::hostRegisterSupported},
    {cudaDevAttrCooperativeLaunch, &cudaDeviceProp::cooperativeLaunch},
    {cudaDevAttrMemoryPoolsSupported, &cudaDeviceProp::memoryPoolsSupported},
    {cudaDevAttrHostNumaId, &cudaDeviceProp::hostNumaId},
    {cudaDevAttrNumaId, &cudaDeviceProp::deviceNumaId},
};

constexpr std::pair<cudaDeviceAttr, std::size_t cudaDeviceProp::*> kSizes[] = {
    {cudaDevAttrMaxSharedMemoryPerBlock, &cudaDeviceProp::sharedMemPerBlock},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, &cudaDeviceProp::sharedMemPerBlockOptin},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &cudaDeviceProp::sharedMemPerMultiprocessor},
    {cudaDevAttrReservedSharedMemoryPerBlock, &cudaDeviceProp::reservedSharedMemPerBlock},
    {cudaDevAttrTotalConstantMemory, &cudaDeviceProp::totalConstMem},
    {cudaDevAttrMaxPitch, &cudaDeviceProp::memPitch},
    {cudaDevAttrTextureAlignment, &cudaDeviceProp::textureAlignment},
    {cudaDevAttrTexturePitchAlignment, &cudaDeviceProp::texturePitchAlignment},
    {cudaDevAttrSurfaceAlignment, &cudaDeviceProp::surfaceAlignment},
};

// Attributes that no property repeats.
constexpr std::pair<cudaDeviceAttr, int> kConstants[] = {
    {cudaDevAttrClockRate, 1410000},        // kHz
    {cudaDevAttrMemoryClockRate, 1215000},  // kHz
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
};

}  // namespace

cudaDeviceProp describe(int physical) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "CPU stand-in for CUDA");
  p.uuid = uuid_of(physical);
  p.pciBusID = physical + 1;
  describe_launch_limits(p);
  describe_memory(p);
  return p;
}

int attribute(const cudaDeviceProp& p, cudaDeviceAttr attr) {
  require(attr > 0 && attr < cudaDevAttrMax, cudaErrorInvalidValue);
  for (const auto& [number, field] : kNumbers) {
    if (number == attr) return p.*field;
  }
  for (const auto& [number, field] : kSizes) {
    if (number == attr) return static_cast<int>(p.*field);
  }
  for (const auto& [number, value] : kConstants) {
    if (number == attr) return value;
  }
  if (attr >= cudaDevAttrMaxBlockDimX && attr <= cudaDevAttrMaxBlockDimZ) {
    return p.maxThreadsDim[attr - cudaDevAttrMaxBlockDimX];
  }
  if (attr >= cudaDevAttrMaxGridDimX && attr <= cudaDevAttrMaxGridDimZ) {
    return p.maxGridSize[attr - cudaDevAttrMaxGridDimX];
  }
  return 0;  // a feature the stand-in does not have
}

}  // namespace ddpscope::standin
