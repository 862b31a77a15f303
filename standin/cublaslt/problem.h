// One matmul: its descriptors as they were at the call, its matrices.
#pragma once

#include "standin/cublaslt/descriptors.h"
#include "standin/matmul/product.h"

namespace ddpscope::standin::lt {

struct Operand {
  Layout layout;
  const void* data = nullptr;

  cudaDataType type() const { return static_cast<cudaDataType>(layout.type); }
  /// Matrix `batch`; with pointer arrays `data` is the array.
  matmul::Matrix matrix(std::int64_t batch) const;
};

struct Problem {
  MatmulDesc desc;
  Operand a, b, c, d;

  cublasOperation_t transa() const { return static_cast<cublasOperation_t>(desc.transa); }
  cublasOperation_t transb() const { return static_cast<cublasOperation_t>(desc.transb); }
  std::int64_t m() const { return static_cast<std::int64_t>(d.layout.rows); }
  std::int64_t n() const { return static_cast<std::int64_t>(d.layout.columns); }
  matmul::Arithmetic arithmetic() const;
};

/// Null descriptors: CUBLAS_STATUS_INVALID_VALUE.
cublasStatus_t read_problem(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Problem& problem);

/// CUBLAS_STATUS_INVALID_VALUE where sizes contradict each other, NOT_SUPPORTED for what is not computed
/// here. `pointers`: the bias and the auxiliary matrix must be known by now.
cublasStatus_t check(const Problem& problem, bool pointers);

/// Computes it; `alpha` and `beta` as the pointer mode has them.
void compute(const Problem& problem, const matmul::ScaleArgument& alpha, const matmul::ScaleArgument& beta,
             const void* alpha_vector, const void* beta_vector);

}  // namespace ddpscope::standin::lt
