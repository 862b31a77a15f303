// What a matmul does with its sums before they are stored.
#pragma once

#include <cmath>
#include <vector>

#include "standin/cublaslt/descriptors.h"
#include "standin/matmul/product.h"

namespace ddpscope::standin::lt {

/// Which parts an epilogue has; cuBLASLt's values are sums of these bits.
struct Epilogue {
  bool relu, bias, relu_gradient, bias_gradient, gelu, gelu_gradient, aux, gradient_a, gradient_b;

  explicit Epilogue(int value)
      : relu(value & CUBLASLT_EPILOGUE_RELU),
        bias(value & CUBLASLT_EPILOGUE_BIAS),
        relu_gradient(value & 8),
        bias_gradient(value & 16),
        gelu(value & CUBLASLT_EPILOGUE_GELU),
        gelu_gradient(value & 64),
        aux(value & 128),
        gradient_a(value & CUBLASLT_EPILOGUE_BGRADA),
        gradient_b(value & CUBLASLT_EPILOGUE_BGRADB) {}

  bool writes_bias() const { return bias_gradient || gradient_a || gradient_b; }
  bool any() const {
    return relu || bias || relu_gradient || gelu || gelu_gradient || gradient_a || gradient_b;
  }
  static bool exists(int value);
};

/// GELU as cuBLASLt computes it, by tanh, and its derivative.
template <class W>
W gelu(W x) {
  const W inner = W(0.7978845608028654) * (x + W(0.044715) * x * x * x);
  return W(0.5) * x * (1 + std::tanh(inner));
}
template <class W>
W gelu_derivative(W x) {
  const W inner = W(0.7978845608028654) * (x + W(0.044715) * x * x * x);
  const W slope = W(0.7978845608028654) * (1 + W(3 * 0.044715) * x * x);
  const W t = std::tanh(inner);
  return W(0.5) * (1 + t) + W(0.5) * x * (1 - t * t) * slope;
}

/// Applies the epilogue of `desc` to the `m` times `n` sums of matrix `batch`.
template <class W>
void apply(const MatmulDesc& desc, cudaDataType d_type, std::int64_t m, std::int64_t n, std::int64_t batch,
           std::vector<W>& sums);

/// The sums over k of op(a)'s rows, or op(b)'s columns, to where the bias is.
template <class W>
void write_bias_gradient(const MatmulDesc& desc, cudaDataType d_type, std::int64_t batch,
                         const std::vector<W>& values);

}  // namespace ddpscope::standin::lt
