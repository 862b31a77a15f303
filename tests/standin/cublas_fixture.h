// Tests that run once for each of cuBLAS' four types.
#pragma once

#include "tests/standin/cublas_matrices.h"
#include "tests/standin/cublas_types.h"

#define OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

namespace blas_test {

template <class T>
class ByType : public ::testing::Test {
 protected:
  Handle handle;
  const Wide alpha_ = is_complex<T> ? Wide(0.75, -0.5) : Wide(0.75);
  const Wide beta_ = is_complex<T> ? Wide(-0.5, 0.25) : Wide(-0.5);
};
using Types = ::testing::Types<float, double, cuComplex, cuDoubleComplex>;

}  // namespace blas_test
