// OpenBLAS' products behind matrices of any type: what is not one of its four types is converted first.
#include "standin/matmul/product.h"

#include <cblas.h>

#include <algorithm>

namespace ddpscope::standin::matmul {
namespace {

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const float* a, int lda,
          const float* b, int ldb, float* c) {
  cblas_sgemm(CblasColMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, m);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const double* a, int lda,
          const double* b, int ldb, double* c) {
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, m);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const std::complex<float>* a, int lda,
          const std::complex<float>* b, int ldb, std::complex<float>* c) {
  const std::complex<float> one(1), zero(0);
  cblas_cgemm(CblasColMajor, ta, tb, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const std::complex<double>* a, int lda,
          const std::complex<double>* b, int ldb, std::complex<double>* c) {
  const std::complex<double> one(1), zero(0);
  cblas_zgemm(CblasColMajor, ta, tb, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}

template <class W>
constexpr cudaDataType kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kTypeOf<std::complex<float>> = CUDA_C_32F;
template <>
constexpr cudaDataType kTypeOf<std::complex<double>> = CUDA_C_64F;

/// A factor as OpenBLAS takes it: the memory of the matrix itself where that will do.
template <class W>
struct Factor {
  std::vector<W> converted;
  const W* data;
  int leading;

  explicit Factor(const Matrix& matrix) {
    if (matrix.type == kTypeOf<W> && !matrix.by_rows) {
      data = static_cast<const W*>(matrix.data);
      leading = static_cast<int>(matrix.leading);
    } else {
      converted = dense<W>(matrix);
      data = converted.data();
      leading = static_cast<int>(std::max<std::int64_t>(matrix.rows, 1));
    }
  }
};

CBLAS_TRANSPOSE to_cblas(cublasOperation_t operation) {
  if (operation == CUBLAS_OP_N) return CblasNoTrans;
  return operation == CUBLAS_OP_T ? CblasTrans : CblasConjTrans;
}

bool narrow_float(cudaDataType type) { return type == CUDA_R_16F || type == CUDA_R_16BF; }
bool float8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

Arithmetic float_arithmetic(cudaDataType a, cudaDataType b, cudaDataType c) {
  if (is_complex(c))
    return a == b && a == c && c == CUDA_C_32F ? Arithmetic::kComplexFloat : Arithmetic::kNone;
  const bool to_float = c == CUDA_R_32F || narrow_float(c);
  if (float8(a) && float8(b)) return to_float || float8(c) ? Arithmetic::kFloat : Arithmetic::kNone;
  if (a != b) return Arithmetic::kNone;
  const bool fits = (a == CUDA_R_32F && c == a) || (narrow_float(a) && (c == a || c == CUDA_R_32F)) ||
                    (a == CUDA_R_8I && c == CUDA_R_32F);
  return fits ? Arithmetic::kFloat : Arithmetic::kNone;
}

}  // namespace

std::size_t size_of(cudaDataType type) {
  std::size_t size = 0;
  with_type(type, [&](auto* null) { size = sizeof(*null); });
  return size;
}

bool is_complex(cudaDataType type) { return type == CUDA_C_32F || type == CUDA_C_64F; }

template <class W>
std::vector<W> dense(const Matrix& matrix) {
  std::vector<W> to(static_cast<std::size_t>(matrix.rows * matrix.columns));
  const std::int64_t outer = matrix.by_rows ? matrix.rows : matrix.columns;
  const std::int64_t inner = matrix.by_rows ? matrix.columns : matrix.rows;
  std::vector<W> line(static_cast<std::size_t>(matrix.by_rows ? inner : 0));
  for (std::int64_t i = 0; i < outer; ++i) {
    W* const target = matrix.by_rows ? line.data() : to.data() + i * inner;
    read(matrix.type, advance(matrix.data, matrix.type, i * matrix.leading), inner, target);
    for (std::size_t j = 0; j < line.size(); ++j) to[static_cast<std::size_t>(i) + j * matrix.rows] = line[j];
  }
  return to;
}

template <class W>
std::vector<W> multiply(cublasOperation_t transa, const Matrix& a, cublasOperation_t transb,
                        const Matrix& b) {
  const std::int64_t m = transa == CUBLAS_OP_N ? a.rows : a.columns;
  const std::int64_t k = transa == CUBLAS_OP_N ? a.columns : a.rows;
  const std::int64_t n = transb == CUBLAS_OP_N ? b.columns : b.rows;
  std::vector<W> product(static_cast<std::size_t>(m * n));
  if (m == 0 || n == 0 || k == 0) return product;
  const Factor<W> left(a), right(b);
  gemm(to_cblas(transa), to_cblas(transb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
       left.data, left.leading, right.data, right.leading, product.data());
  return product;
}

#define INSTANTIATE(W)                             \
  template std::vector<W> dense<W>(const Matrix&); \
  template std::vector<W> multiply<W>(cublasOperation_t, const Matrix&, cublasOperation_t, const Matrix&)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(std::complex<float>);
INSTANTIATE(std::complex<double>);

// Whole numbers are summed as double, which holds all sums that int32 does.
Arithmetic arithmetic(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return a == CUDA_R_16F && b == a && c == a ? Arithmetic::kFloat : Arithmetic::kNone;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return a == CUDA_R_8I && b == a && (c == CUDA_R_32I || c == a) ? Arithmetic::kDouble
                                                                     : Arithmetic::kNone;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      if (a == CUDA_R_64F && b == a && c == a) return Arithmetic::kDouble;
      return a == CUDA_C_64F && b == a && c == a ? Arithmetic::kComplexDouble : Arithmetic::kNone;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return float_arithmetic(a, b, c);
  }
  return Arithmetic::kNone;
}

cudaDataType scale_type(cublasComputeType_t compute, cudaDataType c) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return is_complex(c) ? CUDA_C_64F : CUDA_R_64F;
    default:
      return is_complex(c) ? CUDA_C_32F : CUDA_R_32F;
  }
}

}  // namespace ddpscope::standin::matmul
