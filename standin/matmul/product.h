// Products of matrices of any element type.
#pragma once

#include <memory>
#include <vector>

#include "standin/matmul/types.h"

namespace ddpscope::standin::matmul {

struct Matrix {
  const void* data = nullptr;
  cudaDataType type = CUDA_R_32F;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;
  bool by_rows = false;  ///< `leading` is the step from row to row

  std::int64_t offset(std::int64_t i, std::int64_t j) const {
    return by_rows ? i * leading + j : i + j * leading;
  }
};

/// The matrix as W, column-major and without gaps.
template <class W>
std::vector<W> dense(const Matrix& matrix);

/// op(a) op(b), m rows and n columns, column-major and without gaps; products are summed as W.
template <class W>
std::vector<W> multiply(cublasOperation_t transa, const Matrix& a, cublasOperation_t transb, const Matrix& b);

/// In which type a product is computed; kNone: the types do not go together.
enum class Arithmetic { kNone, kFloat, kDouble, kComplexFloat, kComplexDouble };
Arithmetic arithmetic(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c);

/// The type of alpha and beta that goes with a compute type where the interface does not name one.
cudaDataType scale_type(cublasComputeType_t compute, cudaDataType c);

/// Calls `body` with a null pointer to the type of the arithmetic.
template <class Body>
void with_arithmetic(Arithmetic arithmetic, Body body) {
  switch (arithmetic) {
    case Arithmetic::kFloat:
      return body(static_cast<float*>(nullptr));
    case Arithmetic::kDouble:
      return body(static_cast<double*>(nullptr));
    case Arithmetic::kComplexFloat:
      return body(static_cast<std::complex<float>*>(nullptr));
    case Arithmetic::kComplexDouble:
      return body(static_cast<std::complex<double>*>(nullptr));
    case Arithmetic::kNone:
      return;
  }
}

/// A scalar argument of a product: its value, or where on the device it will be.
class ScaleArgument {
 public:
  ScaleArgument(cudaDataType type, const void* pointer, bool on_device)
      : type_(type), pointer_(pointer), on_device_(on_device) {
    if (!on_device && pointer) value_ = read_one<std::complex<double>>(type, pointer);
  }
  template <class W>
  W value() const {
    const auto now = on_device_ ? read_one<std::complex<double>>(type_, pointer_) : value_;
    return widen<W>(now);
  }

 private:
  cudaDataType type_;
  const void* pointer_;
  bool on_device_;
  std::complex<double> value_{};
};

}  // namespace ddpscope::standin::matmul
