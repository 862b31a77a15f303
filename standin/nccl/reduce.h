// Arithmetic on buffers of every NCCL data type.
#pragma once

#include <nccl.h>

#include <array>
#include <cstddef>
#include <optional>

namespace ddpscope::standin::nccl {

/// Bytes of one element; 0 for what is not a data type.
std::size_t element_size(ncclDataType_t datatype);

/// A reduction taken apart: every rank multiplies its own input by `factor`, the inputs are folded with
/// `fold` in rank order, and the result is divided by `divisor`.
struct Reduction {
  /// One element of the operation's data type, or where it lies when the operation runs.
  struct Factor {
    alignas(8) std::array<std::byte, 8> value{};
    const void* device = nullptr;
    const void* data() const { return device ? device : value.data(); }
  };
  ncclRedOp_t fold = ncclSum;  ///< ncclSum, ncclProd, ncclMax or ncclMin
  std::optional<Factor> factor;
  int divisor = 1;
};

/// The built-in operation `op` over `size` ranks. An average multiplies by 1/size first (so that half
/// precision does not overflow) where the type has fractions, else it divides the sum, as NCCL does.
Reduction make_reduction(ncclRedOp_t op, ncclDataType_t datatype, int size);

/// accumulator[i] = accumulator[i] op input[i], rounded to the type at each step; narrow floats compute in
/// float.
void fold(ncclDataType_t datatype, ncclRedOp_t op, void* accumulator, const void* input, std::size_t count);
void multiply(ncclDataType_t datatype, const void* factor, const void* input, void* output,
              std::size_t count);
void divide(ncclDataType_t datatype, int divisor, void* data, std::size_t count);

}  // namespace ddpscope::standin::nccl
