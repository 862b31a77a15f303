// Work of a handle's stream.
#include "standin/cublas/handle.h"

namespace ddpscope::standin::blas {

cublasStatus_t status_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return CUBLAS_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorInitializationError:
    case cudaErrorNoDevice:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

cublasStatus_t Call::run(library::Work work) {
  if (failed()) return status_;
  return status_of(library::launch(kernel_, handle_->stream, std::move(work)));
}

cublasStatus_t Call::run_for_result(library::Work work) {
  const cublasStatus_t status = run(std::move(work));
  if (status != CUBLAS_STATUS_SUCCESS || on_device()) return status;
  return status_of(cudaStreamSynchronize(handle_->stream));
}

}  // namespace ddpscope::standin::blas
