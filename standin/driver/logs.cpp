// Who wants to read the driver's log may register for it: the stand-in writes none.
#include <cstdint>

#include "standin/driver/boundary.h"

using namespace ddpscope::standin::driver;

extern "C" {

CUresult cuLogsRegisterCallback(CUlogsCallback callback, [[maybe_unused]] void* data,
                                CUlogsCallbackHandle* handle) {
  return guarded([&] {
    require(callback != nullptr, CUDA_ERROR_INVALID_VALUE);
    static char registered;
    if (handle) *handle = reinterpret_cast<CUlogsCallbackHandle>(&registered);
  });
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // extern "C"
