// Level 3: matrices.
#include <vector>

#include "standin/cublas/gemm_arguments.h"
#include "standin/cublas/matrices.h"
#include "standin/cublas/openblas.h"

using namespace ddpscope::standin::blas;

namespace {

constexpr auto kNone = static_cast<cublasOperation_t>(-1);

/// One triangle of c = product + beta c; where `hermitian`, the diagonal is real.
template <class V, class B>
void add_triangle(cublasFillMode_t uplo, std::int64_t n, const V* product, B beta, V* c, std::int64_t ldc,
                  bool hermitian) {
  for_triangle(uplo, n, [&](std::int64_t i, std::int64_t j) {
    V& to = c[i + j * ldc];
    to = product[i + j * n] + (beta == B{} ? V{} : beta * to);
    if (hermitian && i == j) to = std::real(to);
  });
}

}  // namespace

extern "C" {

#define ENTRIES "standin/cublas/level3.inc"
#include "standin/cublas/each_entry.inc"

}  // extern "C"
