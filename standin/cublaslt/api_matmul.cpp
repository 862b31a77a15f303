// Matmul and its one algorithm.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "standin/cublaslt/descriptors.h"
#include "standin/cublaslt/problem.h"
#include "standin/library/launch.h"

using namespace ddpscope::standin;
using namespace ddpscope::standin::lt;

namespace {

constexpr int kOnlyId = 0;

cublasLtMatmulAlgo_t only_algorithm() {
  const Algorithm inner{.id = kOnlyId, .split_k = 1, .sign = kAlgorithmSign};
  cublasLtMatmulAlgo_t algorithm{};
  std::memcpy(&algorithm, &inner, sizeof inner);
  return algorithm;
}

bool is_ours(const cublasLtMatmulAlgo_t* algorithm) {
  Algorithm inner;
  std::memcpy(static_cast<void*>(&inner), algorithm, sizeof inner);
  return inner.sign == kAlgorithmSign && inner.id == kOnlyId;
}

void describe(cublasLtMatmulHeuristicResult_t& result, cublasStatus_t state) {
  result = {};
  result.algo = only_algorithm();
  result.state = state;
  result.wavesCount = 1;
}

/// How many scalars a pointer mode has on the host, and which are vectors on the device.
struct Pointers {
  bool alpha_on_device, beta_on_device;
  const void *alpha_vector, *beta_vector;
  bool no_beta;

  Pointers(int mode, const void* alpha, const void* beta) {
    const bool vector_beta = mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    const bool vector_alpha = mode >= CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    alpha_on_device = mode == CUBLASLT_POINTER_MODE_DEVICE || vector_alpha;
    beta_on_device = mode == CUBLASLT_POINTER_MODE_DEVICE || vector_beta;
    alpha_vector = vector_alpha ? alpha : nullptr;
    beta_vector = vector_beta ? beta : nullptr;
    no_beta = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
  }
};

cublasStatus_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  return error == cudaErrorInitializationError ? CUBLAS_STATUS_NOT_INITIALIZED
                                               : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* A, cublasLtMatrixLayout_t Adesc, const void* B,
                              cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
                              cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  Problem problem;
  cublasStatus_t status = read_problem(desc, Adesc, Bdesc, Cdesc, Ddesc, problem);
  if (status == CUBLAS_STATUS_SUCCESS) status = check(problem, true);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Pointers pointers(problem.desc.pointer_mode, alpha, beta);
  if (!alpha || (!beta && !pointers.no_beta) || !A || !B || !D) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm && !is_ours(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  problem.a.data = A;
  problem.b.data = B;
  problem.c.data = C;
  problem.d.data = D;
  const auto scale = static_cast<cudaDataType>(problem.desc.scale);
  const matmul::ScaleArgument alpha_value(scale, alpha, pointers.alpha_on_device);
  const matmul::ScaleArgument beta_value(scale, pointers.no_beta ? nullptr : beta, pointers.beta_on_device);
  return status_of(library::launch("cublasLt_matmul", stream, [=] {
    compute(problem, alpha_value, beta_value, pointers.alpha_vector, pointers.beta_vector);
  }));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!preference || !results || !found || requested <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  Problem problem;
  cublasStatus_t status = read_problem(desc, Adesc, Bdesc, Cdesc, Ddesc, problem);
  if (status == CUBLAS_STATUS_SUCCESS) status = check(problem, false);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  describe(results[0], status);
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t,
                                        cudaDataType_t a, cudaDataType_t b, cudaDataType_t, cudaDataType_t d,
                                        int requested, int ids[], int* found) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!ids || !found || requested <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  *found = matmul::arithmetic(compute, a, b, d) != matmul::Arithmetic::kNone;
  if (*found) ids[0] = kOnlyId;
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t,
                                      cudaDataType_t a, cudaDataType_t b, cudaDataType_t, cudaDataType_t d,
                                      int id, cublasLtMatmulAlgo_t* algorithm) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!algorithm || id != kOnlyId) return CUBLAS_STATUS_INVALID_VALUE;
  if (matmul::arithmetic(compute, a, b, d) == matmul::Arithmetic::kNone) return CUBLAS_STATUS_NOT_SUPPORTED;
  *algorithm = only_algorithm();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!algorithm || !result || !is_ours(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  Problem problem;
  cublasStatus_t status = read_problem(desc, Adesc, Bdesc, Cdesc, Ddesc, problem);
  if (status == CUBLAS_STATUS_SUCCESS) status = check(problem, false);
  describe(*result, status);
  result->algo = *algorithm;
  return status;
}

// Whoever asks chooses among tiles and splits: there is nothing to choose.
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void* value,
                                                 size_t bytes, size_t* written) {
  if (!algorithm || !is_ours(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint32_t answer = 0;
  switch (attribute) {
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
      answer = 1;
      break;
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      answer = 31;
      break;
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      answer = ~0u;
      break;
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      answer = 1;
      break;
    case CUBLASLT_ALGO_CAP_TILE_IDS:
    case CUBLASLT_ALGO_CAP_STAGES_IDS:  // lists with one entry: undefined
    default:
      break;
  }
  if (written) *written = sizeof answer;
  if (bytes == 0) return written ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  if (!value || bytes < sizeof answer) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &answer, sizeof answer);
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
