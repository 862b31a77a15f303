// From cuBLAS' enumerations and scalars to OpenBLAS'.
#pragma once

#include <cblas.h>

#include <complex>
#include <type_traits>

#include "standin/cublas/handle.h"

namespace ddpscope::standin::blas {

inline CBLAS_TRANSPOSE to_cblas(cublasOperation_t operation) {
  if (operation == CUBLAS_OP_N) return CblasNoTrans;
  return operation == CUBLAS_OP_T ? CblasTrans : CblasConjTrans;
}
inline CBLAS_UPLO to_cblas(cublasFillMode_t fill) {
  return fill == CUBLAS_FILL_MODE_UPPER ? CblasUpper : CblasLower;
}
inline CBLAS_DIAG to_cblas(cublasDiagType_t type) {
  return type == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;
}
inline CBLAS_SIDE to_cblas(cublasSideMode_t side) {
  return side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight;
}

/// A scalar as OpenBLAS wants it: a real one itself, a complex one's address.
template <class V>
auto pass(const V& value) {
  if constexpr (std::is_floating_point_v<V>)
    return value;
  else
    return static_cast<const void*>(&value);
}

inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
inline std::complex<float> conjugate(std::complex<float> x) { return std::conj(x); }
inline std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }

/// Where element `i` of a vector of `n` lies: one with a negative step is stored from its end.
inline std::int64_t offset(std::int64_t n, std::int64_t step, std::int64_t i) {
  return step >= 0 ? i * step : (i - n + 1) * step;
}

}  // namespace ddpscope::standin::blas
