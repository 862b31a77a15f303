// Level 1: vectors.
#include <array>

#include "standin/cublas/openblas.h"

using namespace ddpscope::standin::blas;

namespace {

// OpenBLAS' own may leave a NaN where the factor is 0, and may not: here 0 times NaN is NaN, as on a GPU.
template <class S, class V>
void scale_vector(std::int64_t n, S factor, V* x, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) x[i * step] *= factor;
}

template <class R, class V>
void rotate(std::int64_t n, V* x, std::int64_t incx, V* y, std::int64_t incy, R c, V s) {
  for (std::int64_t i = 0; i < n; ++i) {
    V& a = x[offset(n, incx, i)];
    V& b = y[offset(n, incy, i)];
    const V rotated = c * a + s * b;
    b = c * b - conjugate(s) * a;
    a = rotated;
  }
}

}  // namespace

extern "C" {

#define ENTRIES "standin/cublas/level1.inc"
#include "standin/cublas/each_entry.inc"
#undef ENTRIES

#define INT int
#define SUFFIX
#define ENTRIES "standin/cublas/rotations.inc"
#include "standin/cublas/each_type.inc"

}  // extern "C"
