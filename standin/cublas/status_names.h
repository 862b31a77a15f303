// What cuBLAS and cuBLASLt call their status codes.
#pragma once

#include <cublas_v2.h>

namespace ddpscope::standin::blas {

const char* status_name(cublasStatus_t status);
const char* status_text(cublasStatus_t status);

}  // namespace ddpscope::standin::blas
