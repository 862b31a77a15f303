// Random vectors and matrices on the device, and what they are in double precision.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

namespace blas_test {

using Wide = std::complex<double>;

inline Wide widen(float x) { return x; }
inline Wide widen(double x) { return x; }
inline Wide widen(int x) { return x; }
inline Wide widen(cuComplex x) { return {x.x, x.y}; }
inline Wide widen(cuDoubleComplex x) { return {x.x, x.y}; }

template <class T>
T narrow(Wide x) {
  if constexpr (std::is_same_v<T, cuComplex>)
    return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
  else if constexpr (std::is_same_v<T, cuDoubleComplex>)
    return {x.real(), x.imag()};
  else
    return static_cast<T>(x.real());
}

template <class T>
constexpr bool is_complex = std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>;
template <class T>
constexpr double tolerance = std::is_same_v<T, float> || std::is_same_v<T, cuComplex> ? 2e-5 : 1e-12;

/// `count` elements on the device.
template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, (count + 1) * sizeof(T)), cudaSuccess);
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) { set(values); }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data_); }

  T* get() const { return static_cast<T*>(data_); }
  void set(const std::vector<T>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    EXPECT_EQ(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return copy;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

inline std::mt19937& generator() {
  static std::mt19937 instance(20260727);
  return instance;
}
inline double draw() { return std::uniform_real_distribution<>(-1, 1)(generator()); }

/// Column-major, with `padding` unused rows below each column.
template <class T>
struct Matrix {
  Matrix(int rows_, int columns_, int padding = 2)
      : rows(rows_),
        columns(columns_),
        leading(rows_ + padding),
        values(static_cast<std::size_t>(leading * columns_)),
        device(values.size()) {
    for (T& value : values) value = narrow<T>(is_complex<T> ? Wide(draw(), draw()) : Wide(draw()));
    device.set(values);
  }
  /// As it was made; with `turned`, element (i, j) of op of it.
  Wide at(int i, int j) const { return widen(values[static_cast<std::size_t>(i + j * leading)]); }
  Wide at(cublasOperation_t operation, int i, int j) const {
    if (operation == CUBLAS_OP_N) return at(i, j);
    return operation == CUBLAS_OP_T ? at(j, i) : std::conj(at(j, i));
  }
  void make_dominant() {  // so that systems with it can be solved
    for (int i = 0; i < std::min(rows, columns); ++i) {
      auto& value = values[static_cast<std::size_t>(i + i * leading)];
      value = narrow<T>(widen(value) + Wide(4));
    }
    device.set(values);
  }
  T* data() const { return device.get(); }

  /// Compares what is on the device now with `expected(i, j)`, and that all else is as it was.
  template <class Expected>
  void expect(Expected expected, const char* what) const {
    const std::vector<T> now = device.values();
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < leading; ++i) {
        const auto index = static_cast<std::size_t>(i + j * leading);
        const Wide wanted = i < rows ? Wide(expected(i, j)) : widen(values[index]);
        ASSERT_LE(std::abs(widen(now[index]) - wanted), tolerance<T> * (1 + std::abs(wanted)))
            << what << " at (" << i << ", " << j << ")";
      }
    }
  }

  int rows, columns, leading;
  std::vector<T> values;
  Device<T> device;
};

/// A vector with a step between its elements; a negative one stores it from its end.
template <class T>
struct Vector {
  Vector(int n_, int step_) : n(n_), step(step_), store(1, std::max(1, n_ * std::abs(step_)), 0) {}
  std::size_t index(int i) const {
    return static_cast<std::size_t>(step > 0 ? i * step : (i - n + 1) * step);
  }
  Wide at(int i) const { return widen(store.values[index(i)]); }
  T* data() const { return store.data(); }

  template <class Expected>
  void expect(Expected expected, const char* what) const {
    const std::vector<T> now = store.device.values();
    for (int i = 0; i < n; ++i)
      ASSERT_LE(std::abs(widen(now[index(i)]) - Wide(expected(i))),
                tolerance<T> * (1 + std::abs(Wide(expected(i)))))
          << what << " at " << i;
  }

  int n, step;
  Matrix<T> store;
};

/// A scalar argument where the pointer mode wants it.
template <class T>
class Argument {
 public:
  Argument(Wide value, cublasPointerMode_t mode)
      : host_(narrow<T>(value)), device_(std::vector<T>{host_}), mode_(mode) {}
  const T* get() const { return mode_ == CUBLAS_POINTER_MODE_HOST ? &host_ : device_.get(); }
  Wide value() const { return widen(host_); }

 private:
  T host_;
  Device<T> device_;
  cublasPointerMode_t mode_;
};

class Handle {
 public:
  Handle() { EXPECT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~Handle() { EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS); }
  operator cublasHandle_t() const { return handle_; }
  void point(cublasPointerMode_t mode) {
    EXPECT_EQ(cublasSetPointerMode(handle_, mode), CUBLAS_STATUS_SUCCESS);
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

inline constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
inline constexpr cublasPointerMode_t kModes[] = {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE};
inline constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
inline constexpr cublasDiagType_t kDiagonals[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};
inline constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};

inline bool in_triangle(cublasFillMode_t fill, int i, int j) {
  return fill == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

/// Element (i, j) of a triangular matrix.
template <class T>
Wide triangular(const Matrix<T>& a, cublasFillMode_t fill, cublasDiagType_t diagonal, int i, int j) {
  if (i == j && diagonal == CUBLAS_DIAG_UNIT) return 1;
  return in_triangle(fill, i, j) ? a.at(i, j) : Wide(0);
}

/// Element (i, j) of a symmetric, or Hermitian, matrix of which a triangle is stored.
template <class T>
Wide symmetric(const Matrix<T>& a, cublasFillMode_t fill, int i, int j, bool hermitian) {
  if (i == j && hermitian) return a.at(i, i).real();
  if (in_triangle(fill, i, j)) return a.at(i, j);
  return hermitian ? std::conj(a.at(j, i)) : a.at(j, i);
}

template <class Term>
Wide sum(int n, Term term) {
  Wide total = 0;
  for (int i = 0; i < n; ++i) total += term(i);
  return total;
}

}  // namespace blas_test
