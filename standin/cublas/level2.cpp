// Level 2: matrices and vectors.
#include "standin/cublas/matrices.h"

using namespace ddpscope::standin::blas;

namespace {

template <class V>
void symmetric_times(cublasFillMode_t uplo, std::int64_t n, V alpha, const V* a, std::int64_t lda, const V* x,
                     std::int64_t incx, V beta, V* y, std::int64_t incy) {
  for (std::int64_t i = 0; i < n; ++i) {
    V& to = y[offset(n, incy, i)];
    to = beta == V{} ? V{} : beta * to;
  }
  for_triangle(uplo, n, [&](std::int64_t i, std::int64_t j) {
    const V scaled = alpha * a[i + j * lda];
    y[offset(n, incy, i)] += scaled * x[offset(n, incx, j)];
    if (i != j) y[offset(n, incy, j)] += scaled * x[offset(n, incx, i)];
  });
}

/// a += alpha x y^T and, where `both`, alpha y x^T.
template <class V>
void symmetric_add(cublasFillMode_t uplo, std::int64_t n, V alpha, const V* x, std::int64_t incx, const V* y,
                   std::int64_t incy, V* a, std::int64_t lda, bool both) {
  for_triangle(uplo, n, [&](std::int64_t i, std::int64_t j) {
    V sum = x[offset(n, incx, i)] * y[offset(n, incy, j)];
    if (both) sum += y[offset(n, incy, i)] * x[offset(n, incx, j)];
    a[i + j * lda] += alpha * sum;
  });
}

}  // namespace

extern "C" {

#define ENTRIES "standin/cublas/level2.inc"
#include "standin/cublas/each_entry.inc"

}  // extern "C"
