// What can be computed, and what is asked for wrongly.
#include "standin/cublaslt/problem.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "standin/cublaslt/epilogue.h"

namespace ddpscope::standin::lt {
namespace {

bool by_rows(const Layout& layout) { return layout.order == CUBLASLT_ORDER_ROW; }

bool valid(const Layout& layout) {
  const std::uint64_t inner = by_rows(layout) ? layout.columns : layout.rows;
  return layout.batch_count >= 1 &&
         layout.leading >= static_cast<std::int64_t>(std::max<std::uint64_t>(inner, 1));
}

bool supported(const Layout& layout) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  return (layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW) &&
         layout.plane_offset == 0 && layout.rows <= most && layout.columns <= most &&
         layout.leading <= static_cast<std::int64_t>(most) &&
         matmul::size_of(static_cast<cudaDataType>(layout.type)) != 0;
}

struct Shape {
  std::uint64_t rows, columns;
};
Shape turned(const Layout& layout, std::int32_t operation) {
  if (operation == CUBLAS_OP_N) return {layout.rows, layout.columns};
  return {layout.columns, layout.rows};
}

bool consistent(const Problem& problem) {
  const MatmulDesc& desc = problem.desc;
  for (const int operation : {desc.transa, desc.transb})
    if (operation < CUBLAS_OP_N || operation > CUBLAS_OP_C) return false;
  const Shape a = turned(problem.a.layout, desc.transa), b = turned(problem.b.layout, desc.transb);
  const Layout &c = problem.c.layout, &d = problem.d.layout;
  const auto count = d.batch_count;
  return a.columns == b.rows && a.rows == d.rows && b.columns == d.columns && c.rows == d.rows &&
         c.columns == d.columns && problem.a.layout.batch_count == count &&
         problem.b.layout.batch_count == count && c.batch_count == count;
}

cublasStatus_t check_epilogue(const Problem& problem, bool pointers) {
  const MatmulDesc& desc = problem.desc;
  if (!Epilogue::exists(desc.epilogue)) return CUBLAS_STATUS_INVALID_VALUE;
  const Epilogue epilogue(desc.epilogue);
  if (epilogue.any() && matmul::is_complex(problem.d.type())) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (pointers && (epilogue.bias || epilogue.writes_bias()) && !desc.bias) return CUBLAS_STATUS_INVALID_VALUE;
  if (pointers && epilogue.aux) {
    const bool bits = epilogue.relu || epilogue.relu_gradient;
    if (!desc.aux || desc.aux_leading < problem.m() || (bits && desc.aux_leading % 128 != 0))
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool scales_supported(const MatmulDesc& desc) {
  for (const int mode : {desc.a_mode, desc.b_mode, desc.c_mode, desc.d_mode, desc.aux_mode, desc.d_out_mode})
    if (mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F) return false;
  return !desc.aux_scale && !desc.aux_amax && !desc.d_out_scale;
}

bool float8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

}  // namespace

matmul::Matrix Operand::matrix(std::int64_t batch) const {
  const void* base = layout.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY
                         ? static_cast<const void* const*>(data)[batch]
                         : matmul::advance(data, type(), batch * layout.batch_stride);
  return {base,
          type(),
          static_cast<std::int64_t>(layout.rows),
          static_cast<std::int64_t>(layout.columns),
          layout.leading,
          by_rows(layout)};
}

matmul::Arithmetic Problem::arithmetic() const {
  return matmul::arithmetic(static_cast<cublasComputeType_t>(desc.compute), a.type(), b.type(), d.type());
}

cublasStatus_t read_problem(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Problem& problem) {
  if (!desc || !a || !b || !c || !d) return CUBLAS_STATUS_INVALID_VALUE;
  problem.desc = of(desc);
  problem.a.layout = of(a);
  problem.b.layout = of(b);
  problem.c.layout = of(c);
  problem.d.layout = of(d);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check(const Problem& problem, bool pointers) {
  for (const Operand* operand : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    if (!valid(operand->layout)) return CUBLAS_STATUS_INVALID_VALUE;
    if (!supported(operand->layout)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!consistent(problem)) return CUBLAS_STATUS_INVALID_VALUE;
  const MatmulDesc& desc = problem.desc;
  const bool same_type = problem.c.type() == problem.d.type() || float8(problem.d.type());
  if (problem.arithmetic() == matmul::Arithmetic::kNone || !same_type || desc.transc != CUBLAS_OP_N ||
      desc.fill != CUBLAS_FILL_MODE_FULL || !scales_supported(desc) ||
      desc.pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return check_epilogue(problem, pointers);
}

}  // namespace ddpscope::standin::lt
