// The functions of cuBLAS by the type of their matrices.
#pragma once

#include <cublas_v2.h>

namespace blas_test {

template <class T>
struct Blas;

#define COMMON(L, ASUM, NRM2, I)                                      \
  static constexpr auto gemm = cublas##L##gemm_v2;                    \
  static constexpr auto gemm_64 = cublas##L##gemm_v2_64;              \
  static constexpr auto gemm_batched = cublas##L##gemmBatched;        \
  static constexpr auto gemm_strided = cublas##L##gemmStridedBatched; \
  static constexpr auto symm = cublas##L##symm_v2;                    \
  static constexpr auto syrk = cublas##L##syrk_v2;                    \
  static constexpr auto syr2k = cublas##L##syr2k_v2;                  \
  static constexpr auto syrkx = cublas##L##syrkx;                     \
  static constexpr auto trmm = cublas##L##trmm_v2;                    \
  static constexpr auto trsm = cublas##L##trsm_v2;                    \
  static constexpr auto geam = cublas##L##geam;                       \
  static constexpr auto dgmm = cublas##L##dgmm;                       \
  static constexpr auto gemv = cublas##L##gemv_v2;                    \
  static constexpr auto symv = cublas##L##symv_v2;                    \
  static constexpr auto syr = cublas##L##syr_v2;                      \
  static constexpr auto syr2 = cublas##L##syr2_v2;                    \
  static constexpr auto trmv = cublas##L##trmv_v2;                    \
  static constexpr auto trsv = cublas##L##trsv_v2;                    \
  static constexpr auto tpmv = cublas##L##tpmv_v2;                    \
  static constexpr auto trttp = cublas##L##trttp;                     \
  static constexpr auto tpttr = cublas##L##tpttr;                     \
  static constexpr auto axpy = cublas##L##axpy_v2;                    \
  static constexpr auto scal = cublas##L##scal_v2;                    \
  static constexpr auto copy = cublas##L##copy_v2;                    \
  static constexpr auto swap = cublas##L##swap_v2;                    \
  static constexpr auto rot = cublas##L##rot_v2;                      \
  static constexpr auto asum = ASUM;                                  \
  static constexpr auto nrm2 = NRM2;                                  \
  static constexpr auto amax = cublasI##I##amax_v2;                   \
  static constexpr auto amin = cublasI##I##amin_v2;                   \
  static constexpr auto getrf = cublas##L##getrfBatched;              \
  static constexpr auto getrs = cublas##L##getrsBatched;              \
  static constexpr auto getri = cublas##L##getriBatched;              \
  static constexpr auto matinv = cublas##L##matinvBatched
#define REAL(L)                                   \
  static constexpr auto dot = cublas##L##dot_v2;  \
  static constexpr auto dotc = cublas##L##dot_v2; \
  static constexpr auto ger = cublas##L##ger_v2;  \
  static constexpr auto gerc = cublas##L##ger_v2
#define COMPLEX(L)                                   \
  static constexpr auto dot = cublas##L##dotu_v2;    \
  static constexpr auto dotc = cublas##L##dotc_v2;   \
  static constexpr auto ger = cublas##L##geru_v2;    \
  static constexpr auto gerc = cublas##L##gerc_v2;   \
  static constexpr auto hemv = cublas##L##hemv_v2;   \
  static constexpr auto hemm = cublas##L##hemm_v2;   \
  static constexpr auto herk = cublas##L##herk_v2;   \
  static constexpr auto her2k = cublas##L##her2k_v2; \
  static constexpr auto herkx = cublas##L##herkx

template <>
struct Blas<float> {
  using Real = float;
  COMMON(S, cublasSasum_v2, cublasSnrm2_v2, s);
  REAL(S);
};
template <>
struct Blas<double> {
  using Real = double;
  COMMON(D, cublasDasum_v2, cublasDnrm2_v2, d);
  REAL(D);
};
template <>
struct Blas<cuComplex> {
  using Real = float;
  COMMON(C, cublasScasum_v2, cublasScnrm2_v2, c);
  COMPLEX(C);
};
template <>
struct Blas<cuDoubleComplex> {
  using Real = double;
  COMMON(Z, cublasDzasum_v2, cublasDznrm2_v2, z);
  COMPLEX(Z);
};
#undef COMMON
#undef REAL
#undef COMPLEX

}  // namespace blas_test
