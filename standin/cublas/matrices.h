// Column-major matrices, element by element.
#pragma once

#include <algorithm>

#include "standin/cublas/openblas.h"

namespace ddpscope::standin::blas {

/// `to` may be `from` where the leading dimensions are the same.
template <class V>
void copy_matrix(std::int64_t m, std::int64_t n, const V* from, std::int64_t ld_from, V* to,
                 std::int64_t ld_to) {
  if (from == to) return;
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(from + j * ld_from, m, to + j * ld_to);
}

/// Element (i, j) of op(a).
template <class V>
V element(cublasOperation_t operation, const V* a, std::int64_t lda, std::int64_t i, std::int64_t j) {
  if (operation == CUBLAS_OP_N) return a[i + j * lda];
  return operation == CUBLAS_OP_T ? a[j + i * lda] : conjugate(a[j + i * lda]);
}

/// Calls `each(i, j)` for the elements of a stored triangle.
template <class Each>
void for_triangle(cublasFillMode_t uplo, std::int64_t n, Each each) {
  for (std::int64_t j = 0; j < n; ++j) {
    const bool upper = uplo == CUBLAS_FILL_MODE_UPPER;
    for (std::int64_t i = upper ? 0 : j; i < (upper ? j + 1 : n); ++i) each(i, j);
  }
}

/// Element (i, j) of a triangle of order n that is stored without gaps.
inline std::int64_t packed(cublasFillMode_t uplo, std::int64_t n, std::int64_t i, std::int64_t j) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? i + j * (j + 1) / 2 : i + j * (2 * n - j - 1) / 2;
}

}  // namespace ddpscope::standin::blas
