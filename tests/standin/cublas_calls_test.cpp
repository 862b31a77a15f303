// cuBLAS' calls as such: types of products, status codes, the order of streams, copies, names.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/standin/cublas_matrices.h"
#include "tests/standin/cuda_gate.h"

extern "C" int cublasXtCreate(void** handle);

namespace {

using namespace blas_test;

#undef OK
#define OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

float number(float x) { return x; }
float number(__half x) { return __half2float(x); }
float number(__nv_bfloat16 x) { return __bfloat162float(x); }
float number(std::int8_t x) { return x; }
float number(std::int32_t x) { return static_cast<float>(x); }

/// Whole numbers from -4 to 4: every type holds them, their products and sums.
template <class T>
std::vector<T> whole_numbers(int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i)
    values.push_back(T(static_cast<float>(static_cast<int>(generator()() % 9) - 4)));
  return values;
}

/// c = 2 a^T b + 3 c, with the same stored as a batch of one by pointers and strides.
template <class In, class Out, class Scale>
void expect_product(cudaDataType in, cudaDataType out, cublasComputeType_t compute) {
  const int m = 3, n = 4, k = 5;
  Handle handle;
  const std::vector<In> a = whole_numbers<In>(k * m), b = whole_numbers<In>(k * n);
  const std::vector<Out> c = whole_numbers<Out>(m * n);
  const Device<In> da(a), db(b);
  const Device<Out> plain(c), strided(c), pointed(c);
  const Scale alpha = Scale(2.0f), beta = Scale(3.0f);
  OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, da.get(), in, k, db.get(), in, k, &beta,
                  plain.get(), out, m, compute, CUBLAS_GEMM_DEFAULT));
  OK(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, da.get(), in, k, 0,
                                db.get(), in, k, 0, &beta, strided.get(), out, m, 0, 1, compute,
                                CUBLAS_GEMM_DEFAULT));
  const Device<const void*> as({da.get()}), bs({db.get()});
  const Device<void*> cs({pointed.get()});
  OK(cublasGemmBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, as.get(), in, k, bs.get(), in, k,
                         &beta, cs.get(), out, m, 1, compute, CUBLAS_GEMM_DEFAULT));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i + j * m);
      float wanted = 3 * number(c[at]);
      for (int l = 0; l < k; ++l)
        wanted += 2 * number(a[static_cast<std::size_t>(l + i * k)]) *
                  number(b[static_cast<std::size_t>(l + j * k)]);
      EXPECT_EQ(number(plain.values()[at]), wanted);
      EXPECT_EQ(number(strided.values()[at]), wanted);
      EXPECT_EQ(number(pointed.values()[at]), wanted);
    }
}

TEST(CublasGemmEx, EveryTypeGivesTheSameWholeNumbers) {
  expect_product<float, float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_product<float, float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  expect_product<__half, __half, float>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  expect_product<__half, __half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F);
  expect_product<__half, float, float>(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_product<__nv_bfloat16, __nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  expect_product<__nv_bfloat16, float, float>(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_product<std::int8_t, float, float>(CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  expect_product<std::int8_t, std::int32_t, std::int32_t>(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
}

// Sums beyond 2^24 would lose their last digits in float.
TEST(CublasGemmEx, WholeNumbersAreExact) {
  const int k = 4099;
  Handle handle;
  const Device<std::int8_t> ones(std::vector<std::int8_t>(k, 127));
  const Device<std::int32_t> sum(std::vector<std::int32_t>{0});
  const std::int32_t alpha = 1, beta = 0;
  OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, k, &alpha, ones.get(), CUDA_R_8I, k, ones.get(),
                  CUDA_R_8I, k, &beta, sum.get(), CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(sum.values()[0], 127 * 127 * k);
}

TEST(CublasGemmEx, NarrowResultsAreRoundedOnce) {
  Handle handle;
  const Device<__half> a(std::vector<__half>(3, __half(0.1f))), c(std::vector<__half>(1, __half(0.f)));
  const float alpha = 1, beta = 0;
  OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 3, &alpha, a.get(), CUDA_R_16F, 3, a.get(),
                  CUDA_R_16F, 3, &beta, c.get(), CUDA_R_16F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  const float tenth = __half2float(__half(0.1f));
  EXPECT_EQ(number(c.values()[0]), number(__half(3 * tenth * tenth)));
}

TEST(CublasGemm, WithBetaZeroTheOldResultIsNotRead) {
  Handle handle;
  const Device<float> a(std::vector<float>{2}), c(std::vector<float>{NAN}), d(std::vector<float>{NAN});
  const float alpha = 1, beta = 0;
  OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.get(), 1, a.get(), 1, &beta, c.get(),
                 1));
  EXPECT_EQ(c.values()[0], 4);
  OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.get(), CUDA_R_32F, 1, a.get(),
                  CUDA_R_32F, 1, &beta, d.get(), CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(d.values()[0], 4);
}

TEST(CublasStatus, WrongArgumentsAreRefused) {
  Handle handle;
  const Device<float> a(std::size_t{16});
  const float one = 1;
  float* const p = a.get();
  const auto gemm = [&](cublasHandle_t h, cublasOperation_t ta, int m, int n, int k, const float* alpha,
                        int lda, int ldb, int ldc) {
    return cublasSgemm(h, ta, CUBLAS_OP_N, m, n, k, alpha, p, lda, p, ldb, &one, p, ldc);
  };
  EXPECT_EQ(gemm(nullptr, CUBLAS_OP_N, 2, 2, 2, &one, 2, 2, 2), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, -1, 2, 2, &one, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, -1, 2, &one, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, -1, &one, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, &one, 1, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_T, 2, 2, 3, &one, 2, 3, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, &one, 2, 1, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, &one, 2, 2, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, nullptr, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_CONJG, 2, 2, 2, &one, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 0, 2, 2, &one, 1, 2, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, p, 2, p, 0, &one, p, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, p, 1, p, 1, &one, p, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSdot(handle, 2, p, 1, p, 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, std::int64_t{1} << 40, 1, 1, &one, p,
                           std::int64_t{1} << 40, p, 1, &one, p, std::int64_t{1} << 40),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_64F, 1, p, CUDA_R_32F, 1,
                         &one, p, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSetPointerMode(handle, static_cast<cublasPointerMode_t>(7)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE");
}

TEST(CublasStatus, WhatIsNotProvidedSaysSoOnce) {
  void* handle = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cublasXtCreate(&handle), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasXtCreate(&handle), CUBLAS_STATUS_NOT_SUPPORTED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("libcublas: cublasXtCreate is not provided"), said.npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(CublasStream, WorkComesInTheOrderOfItsStream) {
  Handle handle;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  OK(cublasSetStream(handle, stream));
  Gate gate;
  const Device<float> a(std::vector<float>{2}), c(std::vector<float>{1});
  const float alpha = 1, beta = 0;
  ASSERT_EQ(gate.put_into(stream), cudaSuccess);
  OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.get(), 1, a.get(), 1, &beta, c.get(),
                 1));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(c.values()[0], 1);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(c.values()[0], 4);
  cudaStreamDestroy(stream);
}

TEST(CublasStream, DeviceScalarsAreReadWhenTheStreamComesToThem) {
  Handle handle;
  handle.point(CUBLAS_POINTER_MODE_DEVICE);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  OK(cublasSetStream(handle, stream));
  Gate gate;
  Device<float> factor(std::vector<float>{2});
  const Device<float> x(std::vector<float>{5});
  ASSERT_EQ(gate.put_into(stream), cudaSuccess);
  OK(cublasSscal(handle, 1, factor.get(), x.get(), 1));
  factor.set({3});
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(x.values()[0], 15);
  cudaStreamDestroy(stream);
}

TEST(CublasStream, AGraphRunsAProductEachTime) {
  Handle handle;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  OK(cublasSetStream(handle, stream));
  const Device<float> x(std::vector<float>{1});
  const float two = 2;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  OK(cublasSscal(handle, 1, &two, x.get(), 1));
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(x.values()[0], 8);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST(CublasCopies, MatricesAndVectorsArrive) {
  const std::vector<float> host = {1, 2, 3, 4, 5, 6};  // 2 rows of 3, leading dimension 3
  const Device<float> device(std::vector<float>(6, 0));
  OK(cublasSetMatrix(2, 2, sizeof(float), host.data(), 3, device.get(), 2));
  EXPECT_EQ(device.values(), (std::vector<float>{1, 2, 4, 5, 0, 0}));
  OK(cublasSetVector(3, sizeof(float), host.data(), 2, device.get(), 1));
  EXPECT_EQ(device.values(), (std::vector<float>{1, 3, 5, 5, 0, 0}));
  std::vector<float> back(6, 0);
  OK(cublasGetVector(3, sizeof(float), device.get(), 1, back.data(), 2));
  EXPECT_EQ(back, (std::vector<float>{1, 0, 3, 0, 5, 0}));
  EXPECT_EQ(cublasSetMatrix(2, 2, sizeof(float), host.data(), 1, device.get(), 2),
            CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
