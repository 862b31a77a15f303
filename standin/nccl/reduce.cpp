// Types times operations: one template per arithmetic step, one switch over the types.
#include "standin/nccl/reduce.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

/// The type in which T is computed: float for narrow floats; unsigned for integers of full width, whose sums
/// wrap.
template <typename T>
auto widen(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  } else {
    return T(widen(a) + widen(b));
  }
}

template <typename T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping =
        std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // uint16 * uint16 would be a signed int
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  } else {
    return T(widen(a) * widen(b));
  }
}

template <typename T, typename Combine>
void combine(void* accumulator, const void* input, std::size_t count, Combine each) {
  auto* to = static_cast<T*>(accumulator);
  const auto* from = static_cast<const T*>(input);
  for (std::size_t i = 0; i < count; ++i) to[i] = each(to[i], from[i]);
}

template <typename T>
void fold_as(ncclRedOp_t op, void* accumulator, const void* input, std::size_t count) {
  switch (op) {
    case ncclSum:
      return combine<T>(accumulator, input, count, sum<T>);
    case ncclProd:
      return combine<T>(accumulator, input, count, product<T>);
    case ncclMax:
      return combine<T>(accumulator, input, count, [](T a, T b) { return widen(a) < widen(b) ? b : a; });
    case ncclMin:
      return combine<T>(accumulator, input, count, [](T a, T b) { return widen(b) < widen(a) ? b : a; });
    default:
      throw Failure(ncclInternalError, "a reduction that does not fold");
  }
}

/// Calls `body` with a null pointer to the C++ type of `datatype`.
template <typename Body>
auto with_type(ncclDataType_t datatype, Body body) {
  switch (datatype) {
    case ncclInt8:
      return body(static_cast<std::int8_t*>(nullptr));
    case ncclUint8:
      return body(static_cast<std::uint8_t*>(nullptr));
    case ncclInt32:
      return body(static_cast<std::int32_t*>(nullptr));
    case ncclUint32:
      return body(static_cast<std::uint32_t*>(nullptr));
    case ncclInt64:
      return body(static_cast<std::int64_t*>(nullptr));
    case ncclUint64:
      return body(static_cast<std::uint64_t*>(nullptr));
    case ncclFloat16:
      return body(static_cast<__half*>(nullptr));
    case ncclFloat32:
      return body(static_cast<float*>(nullptr));
    case ncclFloat64:
      return body(static_cast<double*>(nullptr));
    case ncclBfloat16:
      return body(static_cast<__nv_bfloat16*>(nullptr));
    case ncclFloat8e4m3:
      return body(static_cast<__nv_fp8_e4m3*>(nullptr));
    case ncclFloat8e5m2:
      return body(static_cast<__nv_fp8_e5m2*>(nullptr));
    default:
      throw Failure(ncclInvalidArgument, "unknown data type " + std::to_string(datatype));
  }
}

}  // namespace

std::size_t element_size(ncclDataType_t datatype) {
  if (datatype < 0 || datatype >= ncclNumTypes) return 0;
  return with_type(datatype, []<typename T>(T*) { return sizeof(T); });
}

Reduction make_reduction(ncclRedOp_t op, ncclDataType_t datatype, int size) {
  if (op != ncclAvg) return {op, std::nullopt, 1};
  return with_type(datatype, [size]<typename T>(T*) -> Reduction {
    if constexpr (std::is_integral_v<T>) {
      return {ncclSum, std::nullopt, size};
    } else {
      const T share(decltype(widen(T{}))(1) / static_cast<decltype(widen(T{}))>(size));
      Reduction reduction{ncclSum, Reduction::Factor{}, 1};
      std::memcpy(reduction.factor->value.data(), &share, sizeof share);
      return reduction;
    }
  });
}

void fold(ncclDataType_t datatype, ncclRedOp_t op, void* accumulator, const void* input, std::size_t count) {
  with_type(datatype, [=]<typename T>(T*) { fold_as<T>(op, accumulator, input, count); });
}

void multiply(ncclDataType_t datatype, const void* factor, const void* input, void* output,
              std::size_t count) {
  with_type(datatype, [=]<typename T>(T*) {
    T by;
    std::memcpy(&by, factor, sizeof by);
    const auto* from = static_cast<const T*>(input);
    std::transform(from, from + count, static_cast<T*>(output), [by](T value) { return product(value, by); });
  });
}

void divide(ncclDataType_t datatype, int divisor, void* data, std::size_t count) {
  with_type(datatype, [=]<typename T>(T*) {
    if constexpr (std::is_integral_v<T>) {
      auto* values = static_cast<T*>(data);
      std::transform(values, values + count, values, [divisor](T value) {
        return static_cast<T>(
            value /
            static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(divisor));
      });
    }
  });
}

}  // namespace ddpscope::standin::nccl
