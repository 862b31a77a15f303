// Products whose matrices name their types, one or many.
#pragma once

#include "standin/cublas/handle.h"
#include "standin/matmul/product.h"

namespace ddpscope::standin::blas {

struct TypedMatrix {
  const void* data = nullptr;  ///< with pointer arrays: the array, on the device
  cudaDataType type = CUDA_R_32F;
  std::int64_t leading = 0;
  std::int64_t stride = 0;  ///< elements from one matrix of a batch to the next
};

struct TypedGemm {
  const char* kernel = "cublas_gemmEx";
  cublasOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  TypedMatrix a, b;
  const void* beta;
  TypedMatrix c;
  cublasComputeType_t compute;
  bool pointer_arrays = false;
  std::int64_t batches = 1;
};

cublasStatus_t run(cublasHandle_t handle, const TypedGemm& gemm);

}  // namespace ddpscope::standin::blas
