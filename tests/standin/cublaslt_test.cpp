// The stand-in cuBLASLt against plain loops.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/standin/cublas_matrices.h"

namespace {

using blas_test::Device;

#define OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

/// One product of floats, D = epilogue(alpha op(A) op(B) + beta C): 128 rows, as bit masks want them.
class CublasLt : public ::testing::Test {
 protected:
  static constexpr int m = 128, n = 3, k = 4;

  void SetUp() override {
    OK(cublasLtCreate(&handle));
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatrixLayoutCreate(&a_layout, CUDA_R_32F, m, k, m));
    OK(cublasLtMatrixLayoutCreate(&b_layout, CUDA_R_32F, k, n, k));
    OK(cublasLtMatrixLayoutCreate(&d_layout, CUDA_R_32F, m, n, m));
    for (std::vector<float>* values : {&a, &b, &c, &bias, &aux})
      for (float& value : *values) value = static_cast<float>(blas_test::draw());
    for (auto [device, values] : {std::pair{&da, &a}, {&db, &b}, {&dc, &c}, {&dbias, &bias}, {&daux, &aux}})
      device->set(*values);
  }
  void TearDown() override {
    for (auto layout : {a_layout, b_layout, d_layout}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    OK(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value));
  }
  void epilogue(cublasLtEpilogue_t value) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, value);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(dbias.get()));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(daux.get()));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{m});
  }
  cublasStatus_t matmul() {
    return cublasLtMatmul(handle, desc, &alpha, da.get(), a_layout, db.get(), b_layout, &beta, dc.get(),
                          d_layout, dd.get(), d_layout, nullptr, nullptr, 0, nullptr);
  }
  float product(int i, int j) const {
    double sum = 0;
    for (int l = 0; l < k; ++l) sum += double(a[std::size_t(i + l * m)]) * b[std::size_t(l + j * k)];
    return static_cast<float>(alpha * sum + beta * c[std::size_t(i + j * m)]);
  }
  template <class Expected>
  void expect(Expected expected) {
    const std::vector<float> d = dd.values();
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i)
        ASSERT_NEAR(d[std::size_t(i + j * m)], expected(i, j), 1e-5) << i << ", " << j;
  }
  template <class Value>
  void expect_bias(Value value) {
    const std::vector<float> written = dbias.values();
    for (int i = 0; i < m; ++i) ASSERT_NEAR(written[std::size_t(i)], value(i), 1e-5) << i;
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a_layout = nullptr, b_layout = nullptr, d_layout = nullptr;
  float alpha = 0.75f, beta = -0.5f;
  std::vector<float> a = std::vector<float>(m * k), b = std::vector<float>(k * n),
                     c = std::vector<float>(m * n), bias = std::vector<float>(m),
                     aux = std::vector<float>(m * n);
  Device<float> da{std::size_t{m * k}}, db{std::size_t{k * n}}, dc{std::size_t{m * n}},
      dd{std::size_t{m * n}}, dbias{std::size_t{m}}, daux{std::size_t{m * n}};
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

TEST_F(CublasLt, PlainProduct) {
  OK(matmul());
  expect([&](int i, int j) { return product(i, j); });
}

TEST_F(CublasLt, TransposedAndStoredByRows) {
  // The transpose of a, and b by rows: the same numbers in the other order.
  std::vector<float> turned(a.size()), rows(b.size());
  for (int l = 0; l < k; ++l) {
    for (int i = 0; i < m; ++i) turned[std::size_t(l + i * k)] = a[std::size_t(i + l * m)];
    for (int j = 0; j < n; ++j) rows[std::size_t(l * n + j)] = b[std::size_t(l + j * k)];
  }
  da.set(turned);
  db.set(rows);
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  cublasLtMatrixLayoutDestroy(a_layout);
  OK(cublasLtMatrixLayoutCreate(&a_layout, CUDA_R_32F, k, m, k));
  const cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
  const std::int64_t leading = n;
  OK(cublasLtMatrixLayoutSetAttribute(b_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  OK(cublasLtMatrixLayoutSetAttribute(b_layout, CUBLASLT_MATRIX_LAYOUT_LD, &leading, sizeof leading));
  OK(matmul());
  expect([&](int i, int j) { return product(i, j); });
}

TEST_F(CublasLt, BiasAndActivations) {
  epilogue(CUBLASLT_EPILOGUE_BIAS);
  OK(matmul());
  expect([&](int i, int j) { return product(i, j) + bias[std::size_t(i)]; });
  epilogue(CUBLASLT_EPILOGUE_RELU);
  OK(matmul());
  expect([&](int i, int j) { return std::max(product(i, j), 0.0f); });
  epilogue(CUBLASLT_EPILOGUE_RELU_BIAS);
  OK(matmul());
  expect([&](int i, int j) { return std::max(product(i, j) + bias[std::size_t(i)], 0.0f); });
  epilogue(CUBLASLT_EPILOGUE_GELU);
  OK(matmul());
  expect([&](int i, int j) { return gelu(product(i, j)); });
  epilogue(CUBLASLT_EPILOGUE_GELU_BIAS);
  OK(matmul());
  expect([&](int i, int j) { return gelu(product(i, j) + bias[std::size_t(i)]); });
}

TEST_F(CublasLt, ReluKeepsABitAnElementForItsGradient) {
  epilogue(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  OK(matmul());
  epilogue(CUBLASLT_EPILOGUE_DRELU_BGRAD);
  OK(matmul());
  const auto gradient = [&](int i, int j) {
    return product(i, j) + bias[std::size_t(i)] > 0 ? product(i, j) : 0.0f;
  };
  expect(gradient);
  expect_bias([&](int i) { return gradient(i, 0) + gradient(i, 1) + gradient(i, 2); });
}

TEST_F(CublasLt, GeluKeepsItsInputForItsGradient) {
  epilogue(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  OK(matmul());
  const std::vector<float> kept = daux.values();
  for (int i = 0; i < m; ++i)
    ASSERT_NEAR(kept[std::size_t(i + m)], product(i, 1) + bias[std::size_t(i)], 1e-5);
  epilogue(CUBLASLT_EPILOGUE_DGELU_BGRAD);
  OK(matmul());
  const auto gradient = [&](int i, int j) {
    return product(i, j) * gelu_slope(product(i, j) + bias[std::size_t(i)]);
  };
  expect(gradient);
  expect_bias([&](int i) { return gradient(i, 0) + gradient(i, 1) + gradient(i, 2); });
}

TEST_F(CublasLt, BiasGradientsOfTheFactors) {
  epilogue(CUBLASLT_EPILOGUE_BGRADA);
  OK(matmul());
  expect_bias([&](int i) {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[std::size_t(i + l * m)];
    return sum;
  });
  epilogue(CUBLASLT_EPILOGUE_BGRADB);
  OK(matmul());
  const std::vector<float> written = dbias.values();
  for (int j = 0; j < n; ++j) {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += b[std::size_t(l + j * k)];
    ASSERT_NEAR(written[std::size_t(j)], sum, 1e-5);
  }
}

TEST_F(CublasLt, AlphaOfEachRow) {
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST);
  OK(cublasLtMatmul(handle, desc, dbias.get(), da.get(), a_layout, db.get(), b_layout, &beta, dc.get(),
                    d_layout, dd.get(), d_layout, nullptr, nullptr, 0, nullptr));
  const float scale = alpha;
  expect([&](int i, int j) {
    const float rest = beta * c[std::size_t(i + j * m)];
    return bias[std::size_t(i)] * (product(i, j) - rest) / scale + rest;
  });
}

TEST_F(CublasLt, OneAlgorithmIsFoundAndTaken) {
  cublasLtMatmulPreference_t preference = nullptr;
  OK(cublasLtMatmulPreferenceCreate(&preference));
  const std::uint64_t workspace = 1 << 20;
  OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                          sizeof workspace));
  cublasLtMatmulHeuristicResult_t results[4];
  int found = 0;
  OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, a_layout, b_layout, d_layout, d_layout, preference, 4,
                                    results, &found));
  ASSERT_EQ(found, 1);
  EXPECT_EQ(results[0].state, CUBLAS_STATUS_SUCCESS);
  OK(cublasLtMatmul(handle, desc, &alpha, da.get(), a_layout, db.get(), b_layout, &beta, dc.get(), d_layout,
                    dd.get(), d_layout, &results[0].algo, nullptr, 0, nullptr));
  expect([&](int i, int j) { return product(i, j); });
  cublasLtMatmulPreferenceDestroy(preference);
}

TEST_F(CublasLt, WrongArgumentsAreRefused) {
  EXPECT_EQ(cublasLtMatmul(nullptr, desc, &alpha, da.get(), a_layout, db.get(), b_layout, &beta, dc.get(),
                           d_layout, dd.get(), d_layout, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasLtMatmul(handle, desc, &alpha, da.get(), b_layout, db.get(), b_layout, &beta, dc.get(),
                           d_layout, dd.get(), d_layout, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmul(handle, desc, nullptr, da.get(), a_layout, db.get(), b_layout, &beta, dc.get(),
                           d_layout, dd.get(), d_layout, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  const std::int32_t one = 1;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &one, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(matmul(), CUBLAS_STATUS_INVALID_VALUE) << "a bias without a pointer";
  epilogue(CUBLASLT_EPILOGUE_DEFAULT);
  const cublasLtOrder_t order = CUBLASLT_ORDER_COL32;
  OK(cublasLtMatrixLayoutSetAttribute(d_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  EXPECT_EQ(matmul(), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, MatricesAreTransposedAndAdded) {
  cublasLtMatrixTransformDesc_t how = nullptr;
  cublasLtMatrixLayout_t turned = nullptr;
  OK(cublasLtMatrixTransformDescCreate(&how, CUDA_R_32F));
  const cublasOperation_t transpose = CUBLAS_OP_T;
  OK(cublasLtMatrixTransformDescSetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transpose,
                                             sizeof transpose));
  OK(cublasLtMatrixLayoutCreate(&turned, CUDA_R_32F, n, m, n));
  OK(cublasLtMatrixTransform(handle, how, &alpha, daux.get(), turned, &beta, dc.get(), d_layout, dd.get(),
                             d_layout, nullptr));
  expect(
      [&](int i, int j) { return alpha * aux[std::size_t(j + i * n)] + beta * c[std::size_t(i + j * m)]; });
  cublasLtMatrixLayoutDestroy(turned);
  cublasLtMatrixTransformDescDestroy(how);
}

}  // namespace
