// Names and descriptions of the driver's errors.
#include "standin/driver/boundary.h"

using namespace ddpscope::standin::driver;

namespace {

struct Name {
  CUresult result;
  const char* text;
};

#define RESULT(code) {code, #code},
constexpr Name kNames[] = {
#include "driver_results.def"
};
#undef RESULT

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  for (const Name& known : kNames) {
    if (known.result == error) *name = known.text;
  }
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  const char* name = nullptr;
  if (cuGetErrorName(error, &name) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  return guarded([&] {
    static auto* const kDescribe =
        reinterpret_cast<const char* (*)(cudaError_t)>(runtime_function("cudaGetErrorString"));
    *text = kDescribe(static_cast<cudaError_t>(error));
  });
}

}  // extern "C"
