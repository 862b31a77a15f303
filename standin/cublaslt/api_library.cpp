// Handles, versions, the logger, and transformations of matrices.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "standin/cublas/status_names.h"
#include "standin/cublaslt/descriptors.h"
#include "standin/cublaslt/problem.h"
#include "standin/library/launch.h"

using namespace ddpscope::standin;
using namespace ddpscope::standin::lt;

struct cublasLtContext {};

namespace {

/// One input of a transformation; without a layout it is zero.
struct Input {
  Operand operand{};
  bool present = false;
  bool transposed = false;

  Input(const void* data, cublasLtMatrixLayout_t layout, std::int32_t operation) {
    present = data && layout;
    if (!present) return;
    operand = {of(layout), data};
    transposed = operation != CUBLAS_OP_N;
  }
  bool fits(const Layout& to) const {
    if (!present) return true;
    const Layout& from = operand.layout;
    return transposed ? from.rows == to.columns && from.columns == to.rows
                      : from.rows == to.rows && from.columns == to.columns;
  }
};

bool plain(const Layout& layout) {
  return layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW;
}

void add(std::vector<double>& sums, const Input& input, double factor, std::int64_t batch,
         std::int64_t rows) {
  if (!input.present || factor == 0) return;
  const matmul::Matrix matrix = input.operand.matrix(batch);
  const std::vector<double> values = matmul::dense<double>(matrix);
  for (std::int64_t j = 0; j < matrix.columns; ++j)
    for (std::int64_t i = 0; i < matrix.rows; ++i)
      sums[static_cast<std::size_t>(input.transposed ? j + i * rows : i + j * rows)] +=
          factor * values[static_cast<std::size_t>(i + j * matrix.rows)];
}

void transform(const Input& a, double alpha, const Input& b, double beta, const Operand& c) {
  for (std::int64_t batch = 0; batch < c.layout.batch_count; ++batch) {
    const matmul::Matrix to = c.matrix(batch);
    std::vector<double> sums(static_cast<std::size_t>(to.rows * to.columns));
    add(sums, a, alpha, batch, to.rows);
    add(sums, b, beta, batch, to.rows);
    for (std::int64_t j = 0; j < to.columns; ++j)
      for (std::int64_t i = 0; i < to.rows; ++i)
        matmul::write(to.type, &sums[static_cast<std::size_t>(i + j * to.rows)], 1,
                      const_cast<void*>(matmul::advance(to.data, to.type, to.offset(i, j))));
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return blas::status_name(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return blas::status_text(status); }

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  constexpr int version[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  *value = version[type];
  return CUBLAS_STATUS_SUCCESS;
}

// Nothing is logged, and nothing is kept between calls.
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetFile(FILE*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetLevel(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (!capacity) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                                       const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                                       const void* beta, const void* B, cublasLtMatrixLayout_t Bdesc, void* C,
                                       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !C || !Cdesc || !alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const TransformDesc& how = of(desc);
  const Input a(A, Adesc, how.transa), b(B, Bdesc, how.transb);
  const Operand c{of(Cdesc), C};
  if (!a.fits(c.layout) || !b.fits(c.layout)) return CUBLAS_STATUS_INVALID_VALUE;
  for (const Layout* layout : {&a.operand.layout, &b.operand.layout, &c.layout})
    if (!plain(*layout) || matmul::is_complex(static_cast<cudaDataType>(layout->type)) ||
        matmul::size_of(static_cast<cudaDataType>(layout->type)) == 0)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto scale = static_cast<cudaDataType>(how.scale);
  const bool on_device = how.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const matmul::ScaleArgument alpha_value(scale, alpha, on_device);
  const matmul::ScaleArgument beta_value(scale, beta, on_device && beta);
  const cudaError_t error = library::launch("cublasLt_matrix_transform", stream, [=] {
    transform(a, alpha_value.value<double>(), b, beta_value.value<double>(), c);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
