// Level 1 for vectors that name their types; element by element, in double precision.
#include "standin/cublas/openblas.h"
#include "standin/matmul/types.h"

using namespace ddpscope::standin;
using namespace ddpscope::standin::blas;

namespace {

using Wide = std::complex<double>;

struct Vector {
  const void* data;
  cudaDataType type;
  std::int64_t step;
  std::int64_t n;

  Wide get(std::int64_t i) const {
    return matmul::read_one<Wide>(type, matmul::advance(data, type, offset(n, step, i)));
  }
  void set(std::int64_t i, Wide value) const {
    matmul::write(type, &value, 1, const_cast<void*>(matmul::advance(data, type, offset(n, step, i))));
  }
};

/// Checks what all of them have in common.
Call begin(cublasHandle_t handle, const char* kernel, std::int64_t n,
           std::initializer_list<cudaDataType> types, std::initializer_list<std::int64_t> steps) {
  Call call(handle, kernel);
  for (const auto type : types) call.check(matmul::size_of(type) != 0, CUBLAS_STATUS_NOT_SUPPORTED);
  call.fit(n);
  for (const auto step : steps) call.fit(step);
  return call;
}

/// A scalar of any type, from the host at once or from the device later.
class AnyScalar {
 public:
  AnyScalar(cublasHandle_t handle, const void* pointer, cudaDataType type) : pointer_(pointer), type_(type) {
    on_device_ = handle && handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    if (!on_device_ && pointer) value_ = matmul::read_one<Wide>(type, pointer);
  }
  Wide operator()() const { return on_device_ ? matmul::read_one<Wide>(type_, pointer_) : value_; }

 private:
  const void* pointer_;
  cudaDataType type_;
  bool on_device_;
  Wide value_;
};

cublasStatus_t reduce(Call call, void* result, cudaDataType type, std::function<Wide()> value) {
  return call.pointers(result).run_for_result([=] {
    const Wide sum = value();
    matmul::write(type, &sum, 1, result);
  });
}

cublasStatus_t dot(cublasHandle_t handle, const Vector& x, const Vector& y, void* result, cudaDataType type,
                   bool conjugated) {
  return reduce(begin(handle, "cublas_dotEx", x.n, {x.type, y.type, type}, {x.step, y.step}), result, type,
                [=] {
                  Wide sum{};
                  for (std::int64_t i = 0; i < x.n; ++i)
                    sum += (conjugated ? std::conj(x.get(i)) : x.get(i)) * y.get(i);
                  return sum;
                });
}

template <class INT, class Better>
cublasStatus_t find(cublasHandle_t handle, const Vector& x, INT* result, Better better) {
  Call call = begin(handle, "cublas_iamaxEx", x.n, {x.type}, {x.step});
  return call.pointers(result).run_for_result([=] {
    const auto size = [&](INT i) { return std::abs(x.get(i).real()) + std::abs(x.get(i).imag()); };
    INT found = 0;
    for (INT i = 1; i < x.n; ++i)
      if (better(size(i), size(found))) found = i;
    *result = x.n > 0 && x.step > 0 ? found + 1 : 0;
  });
}

}  // namespace

#define LEVEL1_EX(INT, SUFFIX)                                                                              \
  cublasStatus_t cublasAxpyEx##SUFFIX(cublasHandle_t handle, INT n, const void* alpha,                      \
                                      cudaDataType alphaType, const void* x, cudaDataType xType, INT incx,  \
                                      void* y, cudaDataType yType, INT incy, cudaDataType) {                \
    Call call = begin(handle, "cublas_axpyEx", n, {alphaType, xType, yType}, {incx, incy});                 \
    const AnyScalar factor(handle, alpha, alphaType);                                                       \
    const Vector from{x, xType, incx, n}, to{y, yType, incy, n};                                            \
    return call.pointers(alpha).run_if(n > 0, [=] {                                                         \
      for (std::int64_t i = 0; i < n; ++i) to.set(i, to.get(i) + factor() * from.get(i));                   \
    });                                                                                                     \
  }                                                                                                         \
  cublasStatus_t cublasScalEx##SUFFIX(cublasHandle_t handle, INT n, const void* alpha,                      \
                                      cudaDataType alphaType, void* x, cudaDataType xType, INT incx,        \
                                      cudaDataType) {                                                       \
    Call call = begin(handle, "cublas_scalEx", n, {alphaType, xType}, {incx});                              \
    const AnyScalar factor(handle, alpha, alphaType);                                                       \
    const Vector vector{x, xType, incx, n};                                                                 \
    return call.pointers(alpha).run_if(n > 0 && incx > 0, [=] {                                             \
      for (std::int64_t i = 0; i < n; ++i) vector.set(i, factor() * vector.get(i));                         \
    });                                                                                                     \
  }                                                                                                         \
  cublasStatus_t cublasCopyEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,      \
                                      INT incx, void* y, cudaDataType yType, INT incy) {                    \
    const Vector from{x, xType, incx, n}, to{y, yType, incy, n};                                            \
    return begin(handle, "cublas_copyEx", n, {xType, yType}, {incx, incy})                                  \
        .check(xType == yType, CUBLAS_STATUS_NOT_SUPPORTED)                                                 \
        .run_if(n > 0, [=] {                                                                                \
          for (std::int64_t i = 0; i < n; ++i) to.set(i, from.get(i));                                      \
        });                                                                                                 \
  }                                                                                                         \
  cublasStatus_t cublasDotEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,       \
                                     INT incx, const void* y, cudaDataType yType, INT incy, void* result,   \
                                     cudaDataType resultType, cudaDataType) {                               \
    return dot(handle, {x, xType, incx, n}, {y, yType, incy, n}, result, resultType, false);                \
  }                                                                                                         \
  cublasStatus_t cublasDotcEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,      \
                                      INT incx, const void* y, cudaDataType yType, INT incy, void* result,  \
                                      cudaDataType resultType, cudaDataType) {                              \
    return dot(handle, {x, xType, incx, n}, {y, yType, incy, n}, result, resultType, true);                 \
  }                                                                                                         \
  cublasStatus_t cublasNrm2Ex##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,      \
                                      INT incx, void* result, cudaDataType resultType, cudaDataType) {      \
    const Vector vector{x, xType, incx, n};                                                                 \
    return reduce(begin(handle, "cublas_nrm2Ex", n, {xType, resultType}, {incx}), result, resultType, [=] { \
      double sum = 0;                                                                                       \
      for (std::int64_t i = 0; i < n && incx > 0; ++i) sum += std::norm(vector.get(i));                     \
      return Wide(std::sqrt(sum));                                                                          \
    });                                                                                                     \
  }                                                                                                         \
  cublasStatus_t cublasAsumEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,      \
                                      INT incx, void* result, cudaDataType resultType, cudaDataType) {      \
    const Vector vector{x, xType, incx, n};                                                                 \
    return reduce(begin(handle, "cublas_asumEx", n, {xType, resultType}, {incx}), result, resultType, [=] { \
      double sum = 0;                                                                                       \
      for (std::int64_t i = 0; i < n && incx > 0; ++i)                                                      \
        sum += std::abs(vector.get(i).real()) + std::abs(vector.get(i).imag());                             \
      return Wide(sum);                                                                                     \
    });                                                                                                     \
  }                                                                                                         \
  cublasStatus_t cublasIamaxEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,     \
                                       INT incx, INT* result) {                                             \
    return find(handle, {x, xType, incx, n}, result, std::greater<>());                                     \
  }                                                                                                         \
  cublasStatus_t cublasIaminEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType xType,     \
                                       INT incx, INT* result) {                                             \
    return find(handle, {x, xType, incx, n}, result, std::less<>());                                        \
  }

extern "C" {
LEVEL1_EX(int, )
LEVEL1_EX(std::int64_t, _64)
}
