// Entry points for errors and versions. They need no device and work in forked children too.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"

using namespace ddpscope::standin;

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* description;
};

// The errors the stand-in can return, and those that programs ask the text of.
#define TEXT(code, description) \
  { code, #code, description }
constexpr ErrorText kErrorTexts[] = {
    TEXT(cudaSuccess, "no error"),
    TEXT(cudaErrorInvalidValue, "invalid argument"),
    TEXT(cudaErrorMemoryAllocation, "out of memory"),
    TEXT(cudaErrorInitializationError, "initialization error"),
    TEXT(cudaErrorCudartUnloading, "driver shutting down"),
    TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TEXT(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    TEXT(cudaErrorInvalidSymbol, "invalid device symbol"),
    TEXT(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TEXT(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    TEXT(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    TEXT(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    TEXT(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    TEXT(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    TEXT(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TEXT(cudaErrorSymbolNotFound, "named symbol not found"),
    TEXT(cudaErrorNotReady, "device not ready"),
    TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    TEXT(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    TEXT(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    TEXT(cudaErrorContextIsDestroyed, "context is destroyed"),
    TEXT(cudaErrorAssert, "device-side assert triggered"),
    TEXT(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    TEXT(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    TEXT(cudaErrorNotPermitted, "operation not permitted"),
    TEXT(cudaErrorNotSupported, "operation not supported"),
    TEXT(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    TEXT(cudaErrorUnknown, "unknown error"),
};
#undef TEXT

const ErrorText* text_of(cudaError_t error) {
  for (const ErrorText& text : kErrorTexts) {
    if (text.code == error) return &text;
  }
  return nullptr;
}

}  // namespace

extern "C" {

RUNTIME_API(cudaGetLastError, (), ()) { return last_error(true); }
RUNTIME_API(cudaPeekAtLastError, (), ()) { return last_error(false); }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = text_of(error);
  return text ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = text_of(error);
  return text ? text->description : "unrecognized error code";
}

RUNTIME_API(cudaRuntimeGetVersion, (int* version), (version)) {
  if (!version) return record_error(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

RUNTIME_API(cudaDriverGetVersion, (int* version), (version)) { return cudaRuntimeGetVersion(version); }

}  // extern "C"
