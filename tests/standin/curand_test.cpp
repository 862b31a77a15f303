// The stand-in cuRAND's sequences. What they are compared with came out of NVIDIA's libcurand 10.4.0.35 by
// curandCreateGeneratorHost, seed 1234; cuRAND's samples publish the Philox rows as a GPU's, too.
#include <cuda_runtime.h>
#include <curand.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/standin/cuda_gate.h"

namespace {

#undef OK
#define OK(call) ASSERT_EQ(call, CURAND_STATUS_SUCCESS)

constexpr curandRngType_t kTypes[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                      CURAND_RNG_PSEUDO_PHILOX4_32_10};

class Generator {
 public:
  explicit Generator(curandRngType_t type, bool host = false, unsigned long long seed = 1234) : host_(host) {
    EXPECT_EQ(host ? curandCreateGeneratorHost(&generator_, type) : curandCreateGenerator(&generator_, type),
              CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator_, seed), CURAND_STATUS_SUCCESS);
  }
  ~Generator() { curandDestroyGenerator(generator_); }
  operator curandGenerator_t() const { return generator_; }

  /// `count` elements of what `generate(generator, pointer, count)` makes, on the device or the host.
  template <class T, class Generate>
  std::vector<T> make(std::size_t count, Generate generate) {
    std::vector<T> values(count);
    if (host_) {
      EXPECT_EQ(generate(generator_, values.data(), count), CURAND_STATUS_SUCCESS);
      return values;
    }
    void* device = nullptr;
    EXPECT_EQ(cudaMalloc(&device, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(generate(generator_, static_cast<T*>(device), count), CURAND_STATUS_SUCCESS);
    EXPECT_EQ(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    cudaFree(device);
    return values;
  }
  std::vector<unsigned> bits(std::size_t count) { return make<unsigned>(count, curandGenerate); }

 private:
  bool host_;
  curandGenerator_t generator_ = nullptr;
};

curandStatus_t normal(curandGenerator_t g, float* to, std::size_t n) {
  return curandGenerateNormal(g, to, n, 1, 2);
}
curandStatus_t normal(curandGenerator_t g, double* to, std::size_t n) {
  return curandGenerateNormalDouble(g, to, n, 1, 2);
}
curandStatus_t log_normal(curandGenerator_t g, float* to, std::size_t n) {
  return curandGenerateLogNormal(g, to, n, 1, 2);
}

template <class T>
void expect_near(const std::vector<T>& values, const std::vector<T>& wanted, double relative) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i], relative * (1 + std::abs(wanted[i]))) << i;
}

struct Known {
  curandRngType_t type;
  std::vector<unsigned> bits;
  std::vector<float> uniform;
  std::vector<double> uniform_double;
  std::vector<float> normal;
  std::vector<double> normal_double;
};

const Known kKnown[] = {
    {CURAND_RNG_PSEUDO_XORWOW,
     {0x253d5e15, 0xd1f7605a, 0x8ce6f6f8, 0x4b79ff67, 0xea2bee0d, 0xde75663f, 0x526964f3, 0xc8694a55},
     {0.145467639f, 0.820180893f, 0.550399244f, 0.294830292f},
     {0.43489880438841294, 0.92641692020243771, 0.81184521113001917, 0.30855542463539803},
     {2.56194711f, -2.60315633f, 0.438302875f, 2.12709332f, -1.02266574f, 1.82807863f},
     {1.7174795970489101, -1.4791850064471039, 0.81700920045278269, 0.23976212263209151}},
    {CURAND_RNG_PSEUDO_MRG32K3A,
     {0xc96891f0, 0x26f0d612, 0xef269080, 0xfc8fa50e, 0xfcef6715, 0x4df33f46, 0xed30be53, 0x6e9aabc4},
     {0.786751866f, 0.152112365f, 0.934182227f, 0.986566842f},
     {0.78675186271572939, 0.15211236914421553, 0.93418219691237425, 0.9865668449067676},
     {0.278692424f, -0.18256259f, -2.43707299f, -0.803223968f, 1.68779898f, 1.26758671f},
     {0.27869270777651056, -0.18256280748348819, -2.437072123306228, -0.80322525043347115}},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10,
     {0x2090b348, 0xda7cf0ab, 0x4401906f, 0xcbca470e, 0xd115a128, 0x52fc7c75, 0xc7f33f17, 0x0f1539db},
     {0.12720795f, 0.853468955f, 0.265648872f, 0.796055257f},
     {0.85346899543001431, 0.79605514883270523, 0.11227557330034327, 0.080060631323720377,
      0.32416504567394094},
     {-2.23298097f, 3.45831084f, -2.12108088f, 1.92924273f, 2.13691044f, 0.428207278f},
     {-0.079053391814637664, 1.3212666928840457, 3.0163934154745391, 4.6644984956304789, 2.0861097132932551}},
};

TEST(Curand, SequencesAreNvidias) {
  for (const Known& known : kKnown)
    for (const bool host : {false, true}) {
      SCOPED_TRACE(testing::Message() << "type " << known.type << (host ? " on the host" : ""));
      EXPECT_EQ(Generator(known.type, host).bits(8), known.bits);
      const auto uniform = Generator(known.type, host).make<float>(8, curandGenerateUniform);
      for (std::size_t i = 0; i < known.uniform.size(); ++i) EXPECT_EQ(uniform[i], known.uniform[i]);
      const auto doubles = Generator(known.type, host).make<double>(8, curandGenerateUniformDouble);
      for (std::size_t i = 0; i < known.uniform_double.size(); ++i)
        EXPECT_EQ(doubles[i], known.uniform_double[i]);
      const auto wide = [](auto g, auto* to, auto n) { return normal(g, to, n); };
      expect_near(Generator(known.type, host).make<float>(8, wide), known.normal, 2e-6);
      expect_near(Generator(known.type, host).make<double>(8, wide), known.normal_double, 1e-12);
    }
}

TEST(Curand, LogNormalIsTheExponential) {
  const auto shape = [](auto g, auto* to, auto n) { return log_normal(g, to, n); };
  expect_near(Generator(CURAND_RNG_PSEUDO_PHILOX4_32_10).make<float>(8, shape),
              {0.107208371f, 31.7632771f, 0.119901963f, 6.88429499f, 8.47321892f, 1.53450418f}, 5e-6);
}

TEST(Curand, ASequenceGoesOnWhereItEnded) {
  for (const auto type : kTypes)
    for (const std::size_t first : {1u, 3u, 4u, 6u}) {
      Generator whole(type), parts(type);
      const std::vector<unsigned> all = whole.bits(5000);
      std::vector<unsigned> joined = parts.bits(first);
      for (const std::size_t more : {std::size_t{2}, std::size_t{5000} - first - 2}) {
        const std::vector<unsigned> next = parts.bits(more);
        joined.insert(joined.end(), next.begin(), next.end());
      }
      EXPECT_EQ(joined, all) << "type " << type << ", first " << first;
    }
}

TEST(Curand, AnOffsetBeginsFurtherOn) {
  for (const auto type : kTypes) {
    const std::vector<unsigned> all = Generator(type).bits(9000);
    for (const std::size_t offset : {std::size_t{3}, std::size_t{5000}}) {
      Generator later(type);
      OK(curandSetGeneratorOffset(later, offset));
      EXPECT_EQ(later.bits(4000),
                std::vector<unsigned>(all.begin() + static_cast<std::ptrdiff_t>(offset),
                                      all.begin() + static_cast<std::ptrdiff_t>(offset) + 4000));
    }
  }
  Generator xorwow(CURAND_RNG_PSEUDO_XORWOW), philox(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  OK(curandSetGeneratorOffset(xorwow, 5000));
  OK(curandSetGeneratorOffset(philox, 3));
  EXPECT_EQ(xorwow.bits(4), (std::vector<unsigned>{0x522562c3, 0x9f2df228, 0xc68fbc13, 0x9684f1b6}));
  EXPECT_EQ(philox.bits(4), (std::vector<unsigned>{0xcbca470e, 0xd115a128, 0x52fc7c75, 0xc7f33f17}));
}

TEST(Curand, TheSeedDecides) {
  for (const auto type : kTypes) {
    EXPECT_EQ(Generator(type).bits(100), Generator(type).bits(100));
    EXPECT_NE(Generator(type, false, 1).bits(100), Generator(type, false, 2).bits(100));
  }
}

TEST(Curand, MomentsOfTheDistributions) {
  const auto shape = [](auto g, auto* to, auto n) { return normal(g, to, n); };
  for (const auto type : kTypes) {
    double sum = 0, squares = 0;
    for (const float x : Generator(type).make<float>(100000, shape)) sum += x, squares += double(x) * x;
    EXPECT_NEAR(sum / 100000, 1, 0.03);
    EXPECT_NEAR(squares / 100000 - sum / 100000 * (sum / 100000), 4, 0.1);
    for (const float x : Generator(type).make<float>(10000, curandGenerateUniform))
      ASSERT_TRUE(x > 0 && x <= 1);
  }
}

TEST(Curand, WorkComesInTheOrderOfItsStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  Generator generator(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  OK(curandSetStream(generator, stream));
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 8), cudaSuccess);
  ASSERT_EQ(cudaMemset(device, 0, 8), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  Gate gate;
  ASSERT_EQ(gate.put_into(stream), cudaSuccess);
  OK(curandGenerate(generator, static_cast<unsigned*>(device), 2));
  OK(curandSetPseudoRandomGeneratorSeed(generator, 99));  // of what comes, not of what is queued
  unsigned values[2] = {};
  ASSERT_EQ(cudaMemcpy(values, device, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(values[0], 0u);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(values, device, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(values[0], 0x2090b348u);
  cudaFree(device);
  cudaStreamDestroy(stream);
}

TEST(Curand, WrongArgumentsAreRefused) {
  curandGenerator_t none = nullptr;
  float value = 0;
  EXPECT_EQ(curandGenerateUniform(nullptr, &value, 1), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandCreateGenerator(&none, static_cast<curandRngType_t>(77)), CURAND_STATUS_TYPE_ERROR);
  EXPECT_EQ(curandCreateGenerator(&none, CURAND_RNG_QUASI_SOBOL32), CURAND_STATUS_ARCH_MISMATCH);
  Generator generator(CURAND_RNG_PSEUDO_XORWOW, true);
  EXPECT_EQ(curandGenerateNormal(generator, &value, 1, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  EXPECT_EQ(curandSetGeneratorOrdering(generator, static_cast<curandOrdering_t>(7)),
            CURAND_STATUS_OUT_OF_RANGE);
  unsigned poisson = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(curandGeneratePoisson(generator, &poisson, 1, 2), CURAND_STATUS_ARCH_MISMATCH);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("curandGeneratePoisson is not provided"),
            std::string::npos);
}

}  // namespace
