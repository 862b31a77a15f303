// Sums and scalings of matrices, packed triangles, batches.
#include "standin/cublas/gemm_arguments.h"
#include "standin/cublas/matrices.h"
#include "standin/cublas/openblas.h"

using namespace ddpscope::standin::blas;

namespace {

template <class V>
struct Term {
  V factor;
  cublasOperation_t operation;
  const V* matrix;
  std::int64_t leading;

  /// A matrix whose factor is 0 is not read.
  V at(std::int64_t i, std::int64_t j) const {
    return factor == V{} ? V{} : factor * element(operation, matrix, leading, i, j);
  }
};

template <class V>
void add_matrices(std::int64_t m, std::int64_t n, std::type_identity_t<Term<V>> a,
                  std::type_identity_t<Term<V>> b, V* c, std::int64_t ldc) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) c[i + j * ldc] = a.at(i, j) + b.at(i, j);
}

}  // namespace

extern "C" {

#define ENTRIES "standin/cublas/extensions.inc"
#include "standin/cublas/each_entry.inc"
#undef ENTRIES

#define INT int
#define SUFFIX
#define ENTRIES "standin/cublas/packed.inc"
#include "standin/cublas/each_type.inc"

}  // extern "C"
