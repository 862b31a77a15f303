// Vectors and matrices between host and device.
#include <algorithm>

#include "standin/cublas/handle.h"

using namespace ddpscope::standin::blas;

namespace {

struct Side {
  const void* pointer;
  std::int64_t step;  ///< in elements: between columns, or between the elements of a vector
};

/// `count` pieces of `bytes` each, with a step of `element` times the sides' own from one to the next.
cublasStatus_t copy(std::int64_t count, std::int64_t bytes, std::int64_t element, Side from, Side to,
                    cudaMemcpyKind kind, bool asynchronous, cudaStream_t stream) {
  if (element <= 0 || from.step <= 0 || to.step <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (count <= 0 || bytes <= 0) return CUBLAS_STATUS_SUCCESS;
  if (from.step * element < bytes || to.step * element < bytes) return CUBLAS_STATUS_INVALID_VALUE;
  void* const target = const_cast<void*>(to.pointer);
  const auto width = static_cast<std::size_t>(bytes), height = static_cast<std::size_t>(count);
  const auto pitch = [&](const Side& side) { return static_cast<std::size_t>(side.step * element); };
  const cudaError_t error =
      asynchronous
          ? cudaMemcpy2DAsync(target, pitch(to), from.pointer, pitch(from), width, height, kind, stream)
          : cudaMemcpy2D(target, pitch(to), from.pointer, pitch(from), width, height, kind);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t copy_vector(std::int64_t n, std::int64_t element, Side from, Side to, cudaMemcpyKind kind,
                           bool asynchronous = false, cudaStream_t stream = nullptr) {
  if (from.step == 1 && to.step == 1)  // in one piece
    return copy(1, n * element, element, {from.pointer, std::max<std::int64_t>(n, 1)},
                {to.pointer, std::max<std::int64_t>(n, 1)}, kind, asynchronous, stream);
  return copy(n, element, element, from, to, kind, asynchronous, stream);
}

cublasStatus_t copy_matrix(std::int64_t rows, std::int64_t columns, std::int64_t element, Side from, Side to,
                           cudaMemcpyKind kind, bool asynchronous = false, cudaStream_t stream = nullptr) {
  return copy(columns, rows * element, element, from, to, kind, asynchronous, stream);
}

constexpr auto kSet = cudaMemcpyHostToDevice;
constexpr auto kGet = cudaMemcpyDeviceToHost;

}  // namespace

#define COPIES(INT, SUFFIX)                                                                                  \
  cublasStatus_t cublasSetVector##SUFFIX(INT n, INT size, const void* x, INT incx, void* y, INT incy) {      \
    return copy_vector(n, size, {x, incx}, {y, incy}, kSet);                                                 \
  }                                                                                                          \
  cublasStatus_t cublasGetVector##SUFFIX(INT n, INT size, const void* x, INT incx, void* y, INT incy) {      \
    return copy_vector(n, size, {x, incx}, {y, incy}, kGet);                                                 \
  }                                                                                                          \
  cublasStatus_t cublasSetVectorAsync##SUFFIX(INT n, INT size, const void* x, INT incx, void* y, INT incy,   \
                                              cudaStream_t stream) {                                         \
    return copy_vector(n, size, {x, incx}, {y, incy}, kSet, true, stream);                                   \
  }                                                                                                          \
  cublasStatus_t cublasGetVectorAsync##SUFFIX(INT n, INT size, const void* x, INT incx, void* y, INT incy,   \
                                              cudaStream_t stream) {                                         \
    return copy_vector(n, size, {x, incx}, {y, incy}, kGet, true, stream);                                   \
  }                                                                                                          \
  cublasStatus_t cublasSetMatrix##SUFFIX(INT m, INT n, INT size, const void* A, INT lda, void* B, INT ldb) { \
    return copy_matrix(m, n, size, {A, lda}, {B, ldb}, kSet);                                                \
  }                                                                                                          \
  cublasStatus_t cublasGetMatrix##SUFFIX(INT m, INT n, INT size, const void* A, INT lda, void* B, INT ldb) { \
    return copy_matrix(m, n, size, {A, lda}, {B, ldb}, kGet);                                                \
  }                                                                                                          \
  cublasStatus_t cublasSetMatrixAsync##SUFFIX(INT m, INT n, INT size, const void* A, INT lda, void* B,       \
                                              INT ldb, cudaStream_t stream) {                                \
    return copy_matrix(m, n, size, {A, lda}, {B, ldb}, kSet, true, stream);                                  \
  }                                                                                                          \
  cublasStatus_t cublasGetMatrixAsync##SUFFIX(INT m, INT n, INT size, const void* A, INT lda, void* B,       \
                                              INT ldb, cudaStream_t stream) {                                \
    return copy_matrix(m, n, size, {A, lda}, {B, ldb}, kGet, true, stream);                                  \
  }

extern "C" {
COPIES(int, )
COPIES(std::int64_t, _64)
}
