// The version of the runtime, which is the last of CUDA 12. The driver is newer, as it may be.
#include "standin/cuda12/cudart/newer.h"

OLDER(cudaRuntimeGetVersion, (int* version)) {
  const cudaError_t error = NEWER(cudaRuntimeGetVersion)(version);
  if (error == cudaSuccess) *version = 12090;
  return error;
}
