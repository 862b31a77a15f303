// Bias, activations, their gradients.
#include "standin/cublaslt/epilogue.h"

namespace ddpscope::standin::lt {
namespace {

template <class W>
struct Output {
  const MatmulDesc& desc;
  Epilogue epilogue;
  cudaDataType aux_type;
  char* aux;

  /// ReLU keeps a bit an element, GELU the value that it was given.
  std::uint8_t& bits(std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<std::uint8_t*>(aux)[(i + j * desc.aux_leading) / 8];
  }
  void* kept(std::int64_t i, std::int64_t j) const {
    return matmul::advance(static_cast<void*>(aux), aux_type, i + j * desc.aux_leading);
  }

  W with_activation(W value, std::int64_t i, std::int64_t j) const {
    const auto bit = static_cast<std::uint8_t>(1u << (i % 8));
    if (epilogue.relu) {
      const bool positive = value > W{};
      if (epilogue.aux) {
        std::uint8_t& byte = bits(i, j);
        byte = static_cast<std::uint8_t>(positive ? byte | bit : byte & ~bit);
      }
      return positive ? value : W{};
    }
    if (epilogue.gelu) {
      if (epilogue.aux) matmul::write(aux_type, &value, 1, kept(i, j));
      return gelu(value);
    }
    if (epilogue.relu_gradient) return (bits(i, j) & bit) != 0 ? value : W{};
    if (epilogue.gelu_gradient) return value * gelu_derivative(matmul::read_one<W>(aux_type, kept(i, j)));
    return value;
  }
};

cudaDataType type_or(std::int32_t type, cudaDataType otherwise) {
  return type < 0 ? otherwise : static_cast<cudaDataType>(type);
}

/// float8 has no place for a bias: it is kept as bfloat16.
cudaDataType bias_type(const MatmulDesc& desc, cudaDataType d_type) {
  const bool float8 = d_type == CUDA_R_8F_E4M3 || d_type == CUDA_R_8F_E5M2;
  return type_or(desc.bias_type, float8 ? CUDA_R_16BF : d_type);
}

}  // namespace

bool Epilogue::exists(int value) {
  switch (value) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return true;
    default:
      return false;
  }
}

template <class W>
void write_bias_gradient(const MatmulDesc& desc, cudaDataType d_type, std::int64_t batch,
                         const std::vector<W>& values) {
  const cudaDataType type = bias_type(desc, d_type);
  void* const to = const_cast<void*>(matmul::advance(desc.bias, type, batch * desc.bias_stride));
  matmul::write(type, values.data(), static_cast<std::int64_t>(values.size()), to);
}

template <class W>
void apply(const MatmulDesc& desc, cudaDataType d_type, std::int64_t m, std::int64_t n, std::int64_t batch,
           std::vector<W>& sums) {
  Output<W> output{desc, Epilogue(desc.epilogue), type_or(desc.aux_type, d_type), nullptr};
  const std::int64_t before = batch * desc.aux_stride;
  if (desc.aux)
    output.aux = static_cast<char*>(desc.aux) +
                 (output.epilogue.relu || output.epilogue.relu_gradient
                      ? before / 8
                      : before * static_cast<std::int64_t>(matmul::size_of(output.aux_type)));
  std::vector<W> bias(static_cast<std::size_t>(m)), gradient(static_cast<std::size_t>(m));
  if (output.epilogue.bias) {
    const cudaDataType type = bias_type(desc, d_type);
    matmul::read(type, matmul::advance(desc.bias, type, batch * desc.bias_stride), m, bias.data());
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      W& value = sums[static_cast<std::size_t>(i + j * m)];
      value = output.with_activation(value + bias[static_cast<std::size_t>(i)], i, j);
      gradient[static_cast<std::size_t>(i)] += value;
    }
  }
  if (output.epilogue.bias_gradient) write_bias_gradient(desc, d_type, batch, gradient);
}

#define INSTANTIATE(W)                                                                              \
  template void apply<W>(const MatmulDesc&, cudaDataType, std::int64_t, std::int64_t, std::int64_t, \
                         std::vector<W>&);                                                          \
  template void write_bias_gradient<W>(const MatmulDesc&, cudaDataType, std::int64_t, const std::vector<W>&)
INSTANTIATE(float);
INSTANTIATE(double);

}  // namespace ddpscope::standin::lt
