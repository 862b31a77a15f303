// What every entry point of the driver does first and last: admission, errors in the driver's terms.
#pragma once

#include <cuda.h>
#include <driver_types.h>

#include <new>
#include <system_error>

#include "standin/driver/runtime.h"

namespace ddpscope::standin::driver {

/// Ends the current entry point with `result`; thrown and caught inside the library only.
struct Failure {
  CUresult result;
};

inline void require(bool condition, CUresult otherwise) {
  if (!condition) throw Failure{otherwise};
}

/// The driver's code for an error of the runtime.
CUresult driver_result(cudaError_t error);

/// Fails with that code, but for success.
inline void check(CUresult result) { require(result == CUDA_SUCCESS, result); }

/// A runtime call made for the program: its error is not the program's last one.
CUresult keep_last_error(cudaError_t before, cudaError_t result);
cudaError_t peek_last_error();

template <class Call>
CUresult keeping_last_error(Call&& call) {
  const cudaError_t before = peek_last_error();
  const cudaError_t result = call();
  return result == cudaSuccess ? CUDA_SUCCESS : keep_last_error(before, result);
}

/// The driver was initialised, by cuInit or by the runtime's first call. Fails with
/// CUDA_ERROR_NOT_INITIALIZED.
void require_initialised();
void initialise();

template <class Body>
CUresult guarded(Body&& body) {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error&) {
    return CUDA_ERROR_OPERATING_SYSTEM;  // no thread to be had
  }
}

/// The same for what needs the driver initialised.
template <class Body>
CUresult enter(Body&& body) {
  return guarded([&] {
    require_initialised();
    body();
  });
}

}  // namespace ddpscope::standin::driver
