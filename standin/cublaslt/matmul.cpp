// D = epilogue(alpha op(A) op(B) + beta C).
#include <algorithm>
#include <cmath>

#include "standin/cublaslt/epilogue.h"
#include "standin/cublaslt/problem.h"

namespace ddpscope::standin::lt {
namespace {

using matmul::Matrix;

/// A factor on the device, of float8 matrices mostly; 1 where there is none.
template <class W>
W factor(const void* scale) {
  return scale ? W(*static_cast<const float*>(scale)) : W(1);
}

/// alpha and beta for each row of D.
template <class W>
struct Scales {
  std::vector<W> alpha, beta;

  Scales(const Problem& problem, const matmul::ScaleArgument& alpha_argument,
         const matmul::ScaleArgument& beta_argument, const void* alpha_vector, const void* beta_vector,
         std::int64_t batch) {
    const auto type = static_cast<cudaDataType>(problem.desc.scale);
    const auto rows = static_cast<std::size_t>(problem.m());
    const auto fill = [&](std::vector<W>& to, const matmul::ScaleArgument& argument, const void* vector) {
      if (!vector) return to.assign(rows, argument.value<W>());
      to.resize(rows);
      matmul::read(type, matmul::advance(vector, type, batch * problem.desc.alpha_stride), problem.m(),
                   to.data());
    };
    fill(alpha, alpha_argument, alpha_vector);
    fill(beta, beta_argument, beta_vector);
    const W factors = factor<W>(problem.desc.a_scale) * factor<W>(problem.desc.b_scale);
    for (W& value : alpha) value *= factors;
    for (W& value : beta) value *= factor<W>(problem.desc.c_scale);
  }
};

template <class W>
void add_c(const Problem& problem, const Scales<W>& scales, std::int64_t batch, std::vector<W>& sums) {
  const std::int64_t m = problem.m(), n = problem.n();
  const bool read_c = std::any_of(scales.beta.begin(), scales.beta.end(), [](W beta) { return beta != W{}; });
  const std::vector<W> c = read_c ? matmul::dense<W>(problem.c.matrix(batch)) : std::vector<W>();
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      const auto row = static_cast<std::size_t>(i), at = static_cast<std::size_t>(i + j * m);
      sums[at] *= scales.alpha[row];
      if (read_c && scales.beta[row] != W{}) sums[at] += scales.beta[row] * c[at];
    }
  }
}

template <class W>
void store(const Problem& problem, std::int64_t batch, const std::vector<W>& sums) {
  const Matrix d = problem.d.matrix(batch);
  const std::int64_t m = problem.m(), n = problem.n();
  const std::int64_t outer = d.by_rows ? m : n, inner = d.by_rows ? n : m;
  std::vector<W> line(static_cast<std::size_t>(inner));
  const W scale = factor<W>(problem.desc.d_scale);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i)
      line[static_cast<std::size_t>(i)] =
          scale * sums[static_cast<std::size_t>(d.by_rows ? o + i * m : i + o * m)];
    matmul::write(d.type, line.data(), inner,
                  const_cast<void*>(matmul::advance(d.data, d.type, o * d.leading)));
  }
}

template <class W>
void write_largest(const MatmulDesc& desc, const std::vector<W>& sums) {
  if (!desc.d_amax) return;
  float largest = 0;
  for (const W& sum : sums) largest = std::max(largest, static_cast<float>(std::abs(sum)));
  *static_cast<float*>(desc.d_amax) = largest;
}

/// The sums over k: of the rows of op(a), or of the columns of op(b).
template <class W>
std::vector<W> sums_over_k(const Matrix& matrix, bool over_columns) {
  const std::vector<W> elements = matmul::dense<W>(matrix);
  std::vector<W> sums(static_cast<std::size_t>(over_columns ? matrix.rows : matrix.columns));
  for (std::int64_t j = 0; j < matrix.columns; ++j)
    for (std::int64_t i = 0; i < matrix.rows; ++i)
      sums[static_cast<std::size_t>(over_columns ? i : j)] +=
          elements[static_cast<std::size_t>(i + j * matrix.rows)];
  return sums;
}

template <class W>
void apply_epilogue(const Problem& problem, std::int64_t batch, std::vector<W>& sums) {
  const Epilogue epilogue(problem.desc.epilogue);
  if (!epilogue.any()) return;
  if constexpr (!matmul::is_complex_type<W>) {
    if (epilogue.gradient_a || epilogue.gradient_b) {
      const Matrix matrix = epilogue.gradient_a ? problem.a.matrix(batch) : problem.b.matrix(batch);
      const bool plain = (epilogue.gradient_a ? problem.transa() : problem.transb()) == CUBLAS_OP_N;
      write_bias_gradient(problem.desc, problem.d.type(), batch,
                          sums_over_k<W>(matrix, epilogue.gradient_a == plain));
    } else {
      apply(problem.desc, problem.d.type(), problem.m(), problem.n(), batch, sums);
    }
  }
}

}  // namespace

void compute(const Problem& problem, const matmul::ScaleArgument& alpha, const matmul::ScaleArgument& beta,
             const void* alpha_vector, const void* beta_vector) {
  matmul::with_arithmetic(problem.arithmetic(), [&](auto* null) {
    using W = std::remove_pointer_t<decltype(null)>;
    for (std::int64_t batch = 0; batch < problem.d.layout.batch_count; ++batch) {
      std::vector<W> sums = matmul::multiply<W>(problem.transa(), problem.a.matrix(batch), problem.transb(),
                                                problem.b.matrix(batch));
      add_c(problem, Scales<W>(problem, alpha, beta, alpha_vector, beta_vector, batch), batch, sums);
      apply_epilogue(problem, batch, sums);
      write_largest(problem.desc, sums);
      store(problem, batch, sums);
    }
  });
}

}  // namespace ddpscope::standin::lt
