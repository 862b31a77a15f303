// The API's part that concerns no operation: version, messages, memory.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "standin/nccl/boundary.h"
#include "standin/nccl/communicator.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/log.h"
#include "standin/nccl/nvtx.h"

using namespace ddpscope::standin::nccl;

namespace {

void require(const void* pointer) {
  if (!pointer) throw Failure(ncclInvalidArgument, "an argument is NULL");
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  return guarded(__func__, [&] {
    require(version);
    // Programs do otherwise with other versions; the functions are those of this one all the same.
    const char* const variable = std::getenv("STANDIN_NCCL_VERSION");
    *version = variable ? std::atoi(variable) : NCCL_VERSION_CODE;
  });
}
STANDIN_PROFILING_TWIN(ncclGetVersion);

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}
STANDIN_PROFILING_TWIN(ncclGetErrorString);

const char* ncclGetLastError(ncclComm_t) { return last_error(); }
STANDIN_PROFILING_TWIN(ncclGetLastError);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void ncclResetDebugInit() { reset_log_level(); }
STANDIN_PROFILING_TWIN(ncclResetDebugInit);
#pragma GCC diagnostic pop
extern "C" [[gnu::visibility("default")]] void ncclResetDebugInitInternal();
void ncclResetDebugInitInternal() { reset_log_level(); }

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  const nvtx::Range<nvtx::MemAlloc> range;
  return guarded(__func__, [&] {
    require(ptr);
    check_cuda(cudaMalloc(ptr, size));
  });
}
STANDIN_PROFILING_TWIN(ncclMemAlloc);

ncclResult_t ncclMemFree(void* ptr) {
  const nvtx::Range<nvtx::MemFree> range;
  return guarded(__func__, [&] { check_cuda(cudaFree(ptr)); });
}
STANDIN_PROFILING_TWIN(ncclMemFree);

// Registration makes zero-copy possible; there is nothing to copy less of here, so the buffer is its own
// handle.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t, void** handle) {
  return guarded(__func__, [&] {
    find_handle(comm);
    require(buff);
    require(handle);
    *handle = buff;
  });
}
STANDIN_PROFILING_TWIN(ncclCommRegister);

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void*) {
  return guarded(__func__, [&] { find_handle(comm); });
}
STANDIN_PROFILING_TWIN(ncclCommDeregister);
