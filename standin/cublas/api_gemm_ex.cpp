// Entry points of products whose matrices name their types.
#include "standin/cublas/gemm_ex.h"

using namespace ddpscope::standin::blas;

extern "C" {

#define INT int
#define SUFFIX
#include "standin/cublas/gemm_ex.inc"
#undef INT
#undef SUFFIX
#define INT std::int64_t
#define SUFFIX _64
#include "standin/cublas/gemm_ex.inc"

}  // extern "C"
