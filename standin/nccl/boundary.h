// Where the C API begins: failures become result codes, and every ncclX has its pncclX.
#pragma once

#pragma GCC visibility push(default)
#include <nccl.h>
#include <nccl_newer.h>
#pragma GCC visibility pop

#include <type_traits>

namespace ddpscope::standin::nccl {

/// ncclUnhandledCudaError in a forked child, where neither CUDA nor this library can be used; else
/// ncclSuccess.
ncclResult_t refuse_in_forked_child(const char* function) noexcept;

/// The result code of the exception being handled; its message becomes the last error and the open group
/// fails.
ncclResult_t result_of_current_exception(const char* function) noexcept;

/// `body` returns nothing, or the result where it succeeds in other ways than ncclSuccess.
template <typename Body>
ncclResult_t guarded(const char* function, Body body) noexcept {
  if (const ncclResult_t refusal = refuse_in_forked_child(function); refusal != ncclSuccess) return refusal;
  try {
    if constexpr (std::is_same_v<decltype(body()), ncclResult_t>)
      return body();
    else
      body();
    return ncclSuccess;
  } catch (...) {
    return result_of_current_exception(function);
  }
}

}  // namespace ddpscope::standin::nccl

/// The profiling twin of an API function of this translation unit, as NCCL exports it.
#define STANDIN_PROFILING_TWIN(name) \
  extern "C" [[gnu::alias(#name), gnu::visibility("default")]] decltype(name) p##name
