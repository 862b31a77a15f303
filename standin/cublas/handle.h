// What a cublasHandle_t points to, and how a routine checks its arguments and gets its turn in the stream.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <complex>
#include <cstdint>
#include <limits>

#include "standin/library/launch.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};

namespace ddpscope::standin::blas {

/// The C++ type behind a type of the interface, and its real type.
template <class T>
struct Element {
  using Value = T;
  using Real = T;
};
template <>
struct Element<cuComplex> {
  using Value = std::complex<float>;
  using Real = float;
};
template <>
struct Element<cuDoubleComplex> {
  using Value = std::complex<double>;
  using Real = double;
};
template <class T>
using Value = typename Element<T>::Value;

template <class T>
Value<T>* values(T* pointer) {
  return reinterpret_cast<Value<T>*>(pointer);
}
template <class T>
const Value<T>* values(const T* pointer) {
  return reinterpret_cast<const Value<T>*>(pointer);
}

/// A scalar argument: read at the call or, with CUBLAS_POINTER_MODE_DEVICE, when the stream reaches it.
template <class V>
class Scalar {
 public:
  Scalar(bool on_device, const void* pointer)
      : pointer_(static_cast<const V*>(pointer)), on_device_(on_device) {
    if (!on_device && pointer) value_ = *pointer_;
  }
  V operator()() const { return on_device_ ? *pointer_ : value_; }

 private:
  const V* pointer_;
  bool on_device_;
  V value_{};
};

/// cuBLAS' status for what a CUDA call returned.
cublasStatus_t status_of(cudaError_t error);

/// One call of a routine: the first of its checks that fails decides its status.
class Call {
 public:
  Call(cublasHandle_t handle, const char* kernel) : handle_(handle), kernel_(kernel) {
    check(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  }

  Call& check(bool holds, cublasStatus_t otherwise = CUBLAS_STATUS_INVALID_VALUE) {
    if (!holds && status_ == CUBLAS_STATUS_SUCCESS) status_ = otherwise;
    return *this;
  }

  /// Not negative, and within what 32-bit OpenBLAS takes.
  template <class... Ints>
  Call& sizes(Ints... sizes) {
    return check(((sizes >= 0) && ...)).fit(sizes...);
  }
  Call& leading(std::int64_t dimension, std::int64_t rows) {
    return check(dimension >= (rows > 1 ? rows : 1)).fit(dimension);
  }
  /// Steps between the elements of a vector: not 0.
  template <class... Ints>
  Call& steps(Ints... steps) {
    return check(((steps != 0) && ...)).fit(steps...);
  }
  template <class... Ints>
  Call& fit(Ints... numbers) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    return check(((numbers <= most && numbers >= -most) && ...), CUBLAS_STATUS_NOT_SUPPORTED);
  }
  template <class... Pointers>
  Call& pointers(Pointers... pointers) {
    return check(((pointers != nullptr) && ...));
  }
  Call& operations(cublasOperation_t a, cublasOperation_t b = CUBLAS_OP_N) {
    return check(a >= CUBLAS_OP_N && a <= CUBLAS_OP_C && b >= CUBLAS_OP_N && b <= CUBLAS_OP_C);
  }
  Call& triangle(cublasFillMode_t fill) {
    return check(fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER);
  }
  Call& diagonal(cublasDiagType_t type) {
    return check(type == CUBLAS_DIAG_NON_UNIT || type == CUBLAS_DIAG_UNIT);
  }
  Call& side(cublasSideMode_t side) { return check(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT); }

  /// A scalar argument of type V behind `pointer`, which must not be null.
  template <class V>
  Scalar<V> scalar(const void* pointer) {
    check(pointer != nullptr);
    return Scalar<V>(on_device(), pointer);
  }

  bool failed() const { return status_ != CUBLAS_STATUS_SUCCESS; }
  cublasStatus_t status() const { return status_; }

  /// Has the stream do `work` unless a check failed.
  cublasStatus_t run(library::Work work);
  /// `some`: false where there is nothing to compute.
  cublasStatus_t run_if(bool some, library::Work work) { return some ? run(std::move(work)) : status_; }
  /// Work with a result behind a pointer: with host pointers the caller waits for it.
  cublasStatus_t run_for_result(library::Work work);

 private:
  bool on_device() const { return handle_ && handle_->pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }

  cublasHandle_t handle_;
  const char* kernel_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

}  // namespace ddpscope::standin::blas
