// C = alpha op(A) op(B) + beta C for any types of the matrices.
#include "standin/cublas/gemm_ex.h"

#include "standin/cublas/gemm_arguments.h"

namespace ddpscope::standin::blas {
namespace {

using matmul::Matrix;

/// `count` matrices of one batch: `at(i)` is where matrix i begins.
const void* at(const TypedMatrix& matrix, bool pointer_arrays, std::int64_t i) {
  if (pointer_arrays) return static_cast<const void* const*>(matrix.data)[i];
  return matmul::advance(matrix.data, matrix.type, i * matrix.stride);
}

/// c = alpha product + beta c; with beta 0 the old c is not read.
template <class W>
void store(const TypedGemm& gemm, const std::vector<W>& product, W alpha, W beta, void* c) {
  std::vector<W> line(static_cast<std::size_t>(gemm.m));
  for (std::int64_t j = 0; j < gemm.n; ++j) {
    void* const column = matmul::advance(c, gemm.c.type, j * gemm.c.leading);
    if (beta != W{}) matmul::read(gemm.c.type, column, gemm.m, line.data());
    const W* const sums = product.data() + j * gemm.m;
    for (std::size_t i = 0; i < line.size(); ++i)
      line[i] = beta == W{} ? alpha * sums[i] : alpha * sums[i] + beta * line[i];
    matmul::write(gemm.c.type, line.data(), gemm.m, column);
  }
}

template <class W>
void compute(const TypedGemm& gemm, W alpha, W beta) {
  const bool plain_a = gemm.transa == CUBLAS_OP_N, plain_b = gemm.transb == CUBLAS_OP_N;
  for (std::int64_t i = 0; i < gemm.batches; ++i) {
    const Matrix a{at(gemm.a, gemm.pointer_arrays, i), gemm.a.type, plain_a ? gemm.m : gemm.k,
                   plain_a ? gemm.k : gemm.m, gemm.a.leading};
    const Matrix b{at(gemm.b, gemm.pointer_arrays, i), gemm.b.type, plain_b ? gemm.k : gemm.n,
                   plain_b ? gemm.n : gemm.k, gemm.b.leading};
    const std::vector<W> product = alpha == W{} ? std::vector<W>(static_cast<std::size_t>(gemm.m * gemm.n))
                                                : matmul::multiply<W>(gemm.transa, a, gemm.transb, b);
    store(gemm, product, alpha, beta, const_cast<void*>(at(gemm.c, gemm.pointer_arrays, i)));
  }
}

}  // namespace

cublasStatus_t run(cublasHandle_t handle, const TypedGemm& gemm) {
  Call call(handle, gemm.kernel);
  call.pointers(gemm.alpha, gemm.beta);
  check_gemm(call, gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, gemm.a.leading, gemm.b.leading,
             gemm.c.leading);
  call.sizes(gemm.batches);
  const auto arithmetic = matmul::arithmetic(gemm.compute, gemm.a.type, gemm.b.type, gemm.c.type);
  call.check(arithmetic != matmul::Arithmetic::kNone, CUBLAS_STATUS_NOT_SUPPORTED);
  call.check(gemm.c.type != CUDA_R_8I, CUBLAS_STATUS_NOT_SUPPORTED);  // only cuBLASLt writes these
  if (call.failed()) return call.status();
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  const cudaDataType scale = matmul::scale_type(gemm.compute, gemm.c.type);
  const matmul::ScaleArgument alpha(scale, gemm.alpha, on_device), beta(scale, gemm.beta, on_device);
  return call.run_if(gemm.m > 0 && gemm.n > 0 && gemm.batches > 0, [=] {
    matmul::with_arithmetic(arithmetic, [&](auto* null) {
      using W = std::remove_pointer_t<decltype(null)>;
      compute(gemm, alpha.template value<W>(), beta.template value<W>());
    });
  });
}

}  // namespace ddpscope::standin::blas
