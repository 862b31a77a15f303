// What every kind of matrix product demands of its sizes.
#pragma once

#include "standin/cublas/handle.h"

namespace ddpscope::standin::blas {

inline void check_gemm(Call& call, cublasOperation_t transa, cublasOperation_t transb, std::int64_t m,
                       std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  call.operations(transa, transb).sizes(m, n, k);
  call.leading(lda, transa == CUBLAS_OP_N ? m : k);
  call.leading(ldb, transb == CUBLAS_OP_N ? k : n).leading(ldc, m);
}

}  // namespace ddpscope::standin::blas
