// What a device of the stand-in says of itself. Limits that programs size their launches by are those of a
// GPU of compute capability 8.0; what the stand-in does not have (textures, surfaces, clusters, IPC) reads as
// zero.
#include "standin/cuda/device_properties.h"

#include <cstdio>

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

}  // namespace

cudaDeviceProp describe(const Device& device) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "CPU stand-in for CUDA");
  p.uuid = device.uuid();
  p.pciBusID = device.physical() + 1;
  describe_launch_limits(p);
  describe_memory(p);
  return p;
}

int attribute(const cudaDeviceProp& p, cudaDeviceAttr attr) {
  require(attr > 0 && attr < cudaDevAttrMax, cudaErrorInvalidValue);
  switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrMaxPitch:
      return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerMultiprocessor;
    case cudaDevAttrClockRate:
      return 1410000;  // kHz
    case cudaDevAttrMemoryClockRate:
      return 1215000;  // kHz
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment:
      return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrSurfaceAlignment:
      return static_cast<int>(p.surfaceAlignment);
    case cudaDevAttrGpuOverlap:
      return p.asyncEngineCount > 0;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrCanMapHostMemory:
      return p.canMapHostMemory;
    case cudaDevAttrConcurrentKernels:
      return p.concurrentKernels;
    case cudaDevAttrPciBusId:
      return p.pciBusID;
    case cudaDevAttrGlobalMemoryBusWidth:
      return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrUnifiedAddressing:
      return p.unifiedAddressing;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrStreamPrioritiesSupported:
      return p.streamPrioritiesSupported;
    case cudaDevAttrGlobalL1CacheSupported:
      return p.globalL1CacheSupported;
    case cudaDevAttrLocalL1CacheSupported:
      return p.localL1CacheSupported;
    case cudaDevAttrManagedMemory:
      return p.managedMemory;
    case cudaDevAttrConcurrentManagedAccess:
      return p.concurrentManagedAccess;
    case cudaDevAttrDirectManagedMemAccessFromHost:
      return p.directManagedMemAccessFromHost;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return p.canUseHostPointerForRegisteredMem;
    case cudaDevAttrHostRegisterSupported:
      return p.hostRegisterSupported;
    case cudaDevAttrCooperativeLaunch:
      return p.cooperativeLaunch;
    case cudaDevAttrMemoryPoolsSupported:
      return p.memoryPoolsSupported;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return 2;
    case cudaDevAttrHostNumaId:
      return p.hostNumaId;
    case cudaDevAttrNumaId:
      return p.deviceNumaId;
    default:
      return 0;  // a feature the stand-in does not have
  }
}

}  // namespace ddpscope::standin
