// What lies in cuBLASLt's opaque descriptors.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace ddpscope::standin::lt {

struct Layout {
  std::int32_t type = {};
  std::int32_t order = {};
  std::uint64_t rows = {}, columns = {};
  std::int64_t leading = {};
  std::int32_t batch_count = {};
  std::int32_t batch_mode = {};
  std::int64_t batch_stride = {};
  std::int64_t plane_offset = {};
};

struct MatmulDesc {
  std::int32_t compute = {}, scale = {}, pointer_mode = {}, transa = {}, transb = {}, transc = {}, fill = {},
               epilogue = {};
  const void* bias = {};
  std::int64_t bias_stride = {};
  void* aux = {};
  std::int64_t aux_leading = {}, aux_stride = {};
  std::int64_t alpha_stride = {};
  std::int32_t sm_count = {};
  std::int32_t bias_type = {}, aux_type = {};  ///< -1: that of D
  std::int8_t fast_accumulation = {};
  const void *a_scale = {}, *b_scale = {}, *c_scale = {}, *d_scale = {}, *aux_scale = {}, *d_out_scale = {};
  void *d_amax = {}, *aux_amax = {}, *emulation = {};
  std::int32_t a_mode = {}, b_mode = {}, c_mode = {}, d_mode = {}, aux_mode = {}, d_out_mode = {};
};

struct TransformDesc {
  std::int32_t scale = {}, pointer_mode = {}, transa = {}, transb = {};
};

struct Preference {
  std::uint32_t search_mode = {};
  std::uint32_t reduction_mask = {};
  std::uint64_t workspace = {};
  std::uint32_t alignment[4] = {};
  float waves = {};
  std::uint64_t implementations = {};
};

/// The one algorithm there is; the settings are kept and change nothing.
struct Algorithm {
  std::int32_t id = {};
  std::uint32_t tile = {}, split_k = {}, reduction = {}, swizzling = {}, custom = {}, stages = {};
  std::uint16_t inner_shape = {}, cluster_shape = {};
  std::uint64_t sign = {};
};
inline constexpr std::uint64_t kAlgorithmSign = 0x7374616e64696e21;

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(MatmulDesc) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(TransformDesc) <= sizeof(cublasLtMatrixTransformDescOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

inline const Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Layout*>(layout); }
inline const MatmulDesc& of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<const MatmulDesc*>(desc); }
inline const TransformDesc& of(cublasLtMatrixTransformDesc_t desc) {
  return *reinterpret_cast<const TransformDesc*>(desc);
}

}  // namespace ddpscope::standin::lt
