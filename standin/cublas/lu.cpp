// LU factorization with partial pivoting, and what is solved with it.
#include <cmath>
#include <vector>

#include "standin/cublas/matrices.h"

using namespace ddpscope::standin::blas;

namespace {

template <class V>
double magnitude(V value) {
  return std::abs(std::real(value)) + std::abs(std::imag(value));
}

template <class V>
void swap_rows(std::int64_t columns, V* a, std::int64_t lda, std::int64_t i, std::int64_t j) {
  for (std::int64_t column = 0; i != j && column < columns; ++column)
    std::swap(a[i + column * lda], a[j + column * lda]);
}

/// 0, or the 1-based column whose pivot is 0. Without `pivots` rows stay where they are.
template <class V>
int factorize(std::int64_t n, V* a, std::int64_t lda, int* pivots) {
  int singular = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; pivots && i < n; ++i)
      if (magnitude(a[i + k * lda]) > magnitude(a[pivot + k * lda])) pivot = i;
    if (pivots) pivots[k] = static_cast<int>(pivot) + 1;
    if (a[pivot + k * lda] == V{}) {
      if (singular == 0) singular = static_cast<int>(k) + 1;
      continue;
    }
    swap_rows(n, a, lda, k, pivot);
    for (std::int64_t i = k + 1; i < n; ++i) a[i + k * lda] /= a[k + k * lda];
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < n; ++i) a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
  }
  return singular;
}

/// b = op(L U)^-1 b for one column, without the interchanges.
template <class V>
void substitute(cublasOperation_t trans, std::int64_t n, const V* lu, std::int64_t lda, V* b) {
  const bool plain = trans == CUBLAS_OP_N;
  const auto at = [&](std::int64_t i, std::int64_t j) { return element(trans, lu, lda, i, j); };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) b[i] -= at(i, j) * b[j];
    if (!plain) b[i] /= at(i, i);
  }
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t j = i + 1; j < n; ++j) b[i] -= at(i, j) * b[j];
    if (plain) b[i] /= at(i, i);
  }
}

template <class V>
void solve(cublasOperation_t trans, std::int64_t n, std::int64_t columns, const V* lu, std::int64_t lda,
           const int* pivots, V* b, std::int64_t ldb) {
  for (std::int64_t i = 0; pivots && trans == CUBLAS_OP_N && i < n; ++i)
    swap_rows(columns, b, ldb, i, pivots[i] - 1);
  for (std::int64_t j = 0; j < columns; ++j) substitute(trans, n, lu, lda, b + j * ldb);
  for (std::int64_t i = n - 1; pivots && trans != CUBLAS_OP_N && i >= 0; --i)
    swap_rows(columns, b, ldb, i, pivots[i] - 1);
}

/// 0, or the 1-based column whose pivot is 0.
template <class V>
int invert(std::int64_t n, const V* lu, std::int64_t lda, const int* pivots, V* c, std::int64_t ldc) {
  for (std::int64_t i = 0; i < n; ++i)
    if (lu[i + i * lda] == V{}) return static_cast<int>(i) + 1;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) c[i + j * ldc] = i == j ? V(1) : V{};
  solve(CUBLAS_OP_N, n, n, lu, lda, pivots, c, ldc);
  return 0;
}

}  // namespace

extern "C" {

#define INT int
#define SUFFIX
#define ENTRIES "standin/cublas/lu.inc"
#include "standin/cublas/each_type.inc"

}  // extern "C"
