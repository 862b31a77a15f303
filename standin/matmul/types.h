// The element types of cuBLAS' mixed-precision interfaces, and the types in which they are computed.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ddpscope::standin::matmul {

/// Bytes of an element; 0: a type that is not computed here.
std::size_t size_of(cudaDataType type);
bool is_complex(cudaDataType type);

/// Calls `body` with a null pointer to the C++ type behind `type`; other types are ignored.
template <class Body>
void with_type(cudaDataType type, Body body) {
  switch (type) {
    case CUDA_R_32F:
      return body(static_cast<float*>(nullptr));
    case CUDA_R_64F:
      return body(static_cast<double*>(nullptr));
    case CUDA_R_16F:
      return body(static_cast<__half*>(nullptr));
    case CUDA_R_16BF:
      return body(static_cast<__nv_bfloat16*>(nullptr));
    case CUDA_R_8F_E4M3:
      return body(static_cast<__nv_fp8_e4m3*>(nullptr));
    case CUDA_R_8F_E5M2:
      return body(static_cast<__nv_fp8_e5m2*>(nullptr));
    case CUDA_R_8I:
      return body(static_cast<std::int8_t*>(nullptr));
    case CUDA_R_8U:
      return body(static_cast<std::uint8_t*>(nullptr));
    case CUDA_R_32I:
      return body(static_cast<std::int32_t*>(nullptr));
    case CUDA_C_32F:
      return body(static_cast<std::complex<float>*>(nullptr));
    case CUDA_C_64F:
      return body(static_cast<std::complex<double>*>(nullptr));
    default:
      return;
  }
}

template <class T>
constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// An element as W; the imaginary part is dropped where W has none.
template <class W, class E>
W widen(E value) {
  if constexpr (is_complex_type<E>) {
    if constexpr (is_complex_type<W>)
      return W(value);
    else
      return static_cast<W>(value.real());
  } else if constexpr (std::is_arithmetic_v<E>) {
    return static_cast<W>(value);
  } else {
    return static_cast<W>(static_cast<float>(value));
  }
}

/// Rounds to nearest; integers are limited to their range.
template <class E, class W>
E narrow(W value) {
  if constexpr (is_complex_type<W>) {
    if constexpr (is_complex_type<E>)
      return E(value);
    else
      return narrow<E>(value.real());
  } else if constexpr (std::is_integral_v<E>) {
    const double rounded = std::nearbyint(static_cast<double>(value));
    if (!(rounded > std::numeric_limits<E>::min())) return std::numeric_limits<E>::min();
    return rounded >= std::numeric_limits<E>::max() ? std::numeric_limits<E>::max() : static_cast<E>(rounded);
  } else if constexpr (std::is_floating_point_v<E> || is_complex_type<E>) {
    return E(value);
  } else {
    return E(static_cast<float>(value));
  }
}

/// `count` elements as W, and back.
template <class W>
void read(cudaDataType type, const void* from, std::int64_t count, W* to) {
  with_type(type, [&](auto* null) {
    const auto* elements = static_cast<const std::remove_pointer_t<decltype(null)>*>(from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen<W>(elements[i]);
  });
}
template <class W>
void write(cudaDataType type, const W* from, std::int64_t count, void* to) {
  with_type(type, [&](auto* null) {
    using E = std::remove_pointer_t<decltype(null)>;
    for (std::int64_t i = 0; i < count; ++i) static_cast<E*>(to)[i] = narrow<E>(from[i]);
  });
}
template <class W>
W read_one(cudaDataType type, const void* from) {
  W value{};
  read(type, from, 1, &value);
  return value;
}

inline const void* advance(const void* base, cudaDataType type, std::int64_t elements) {
  return static_cast<const char*>(base) + elements * static_cast<std::int64_t>(size_of(type));
}
inline void* advance(void* base, cudaDataType type, std::int64_t elements) {
  return static_cast<char*>(base) + elements * static_cast<std::int64_t>(size_of(type));
}

}  // namespace ddpscope::standin::matmul
