// Gradients of the kernels against finite differences of their forward passes.
#include "reference_trainer/kernel_bodies.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace reference_trainer {
namespace {

constexpr float kStep = 1e-2f;
constexpr float kTolerance = 2e-3f;

std::vector<float> random_values(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0, 0.5f);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

template <typename Arguments>
void run_all(const Arguments& arguments, int64_t items) {
  for (int64_t item = 0; item < items; ++item) run_item(arguments, item);
}

// d(sum of weights × output)/d(each value of x), by central differences.
std::vector<float> differences(std::vector<float>& x, const std::function<std::vector<float>()>& forward,
                               const std::vector<float>& weights) {
  const auto weighted = [&] {
    const std::vector<float> out = forward();
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * weights[i];
    return sum;
  };
  std::vector<float> gradient;
  for (float& value : x) {
    const float saved = value;
    value = saved + kStep;
    const double above = weighted();
    value = saved - kStep;
    const double below = weighted();
    value = saved;
    gradient.push_back(static_cast<float>((above - below) / (2 * kStep)));
  }
  return gradient;
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], kTolerance) << "at " << i;
}

struct LinearCase {
  static constexpr int kRows = 3, kInputs = 4, kOutputs = 2 * kLanes;
  std::vector<float> x = random_values(kRows * kInputs, 1);
  std::vector<float> weight = random_values(kInputs * kOutputs, 2);
  std::vector<float> bias = random_values(kOutputs, 3);
  std::vector<float> y_gradient = random_values(kRows * kOutputs, 4);

  std::vector<float> forward() const {
    std::vector<float> y(kRows * kOutputs);
    run_all(LinearForward{kRows, kInputs, kOutputs, x.data(), weight.data(), bias.data(), y.data()},
            kRows * kOutputs / kLanes);
    return y;
  }
};

TEST(KernelBodies, LinearForwardIsTheMatrixProduct) {
  const LinearCase c;
  const std::vector<float> y = c.forward();
  for (int row = 0; row < c.kRows; ++row) {
    for (int j = 0; j < c.kOutputs; ++j) {
      double expected = c.bias[j];
      for (int k = 0; k < c.kInputs; ++k) expected += c.x[row * c.kInputs + k] * c.weight[k * c.kOutputs + j];
      EXPECT_NEAR(y[row * c.kOutputs + j], expected, 1e-5);
    }
  }
}

TEST(KernelBodies, LinearBackwardInput) {
  LinearCase c;
  std::vector<float> gradient(c.x.size());
  run_all(LinearBackwardInput{c.kRows, c.kInputs, c.kOutputs, c.y_gradient.data(), c.weight.data(),
                              gradient.data()},
          c.kRows * c.kInputs);
  expect_near(gradient, differences(
                            c.x, [&] { return c.forward(); }, c.y_gradient));
}

TEST(KernelBodies, LinearBackwardWeightAddsUp) {
  LinearCase c;
  std::vector<float> gradient(c.weight.size(), 1);
  run_all(
      LinearBackwardWeight{c.kRows, c.kInputs, c.kOutputs, c.x.data(), c.y_gradient.data(), gradient.data()},
      c.kInputs * c.kOutputs / kLanes);
  for (float& value : gradient) value -= 1;
  expect_near(gradient, differences(
                            c.weight, [&] { return c.forward(); }, c.y_gradient));
}

TEST(KernelBodies, LinearBackwardBiasAddsUp) {
  LinearCase c;
  std::vector<float> gradient(c.bias.size(), 1);
  run_all(LinearBackwardBias{c.kRows, c.kOutputs, c.y_gradient.data(), gradient.data()}, c.kOutputs / kLanes);
  for (float& value : gradient) value -= 1;
  expect_near(gradient, differences(
                            c.bias, [&] { return c.forward(); }, c.y_gradient));
}

TEST(KernelBodies, TanhBackward) {
  std::vector<float> x = random_values(8, 5);
  const std::vector<float> weights = random_values(8, 6);
  const auto forward = [&] {
    std::vector<float> y = x;
    run_all(TanhForward{y.data()}, 8);
    return y;
  };
  std::vector<float> gradient = weights;
  const std::vector<float> y = forward();
  run_all(TanhBackward{y.data(), gradient.data()}, 8);
  expect_near(gradient, differences(x, forward, weights));
}

TEST(KernelBodies, CrossEntropyGradient) {
  constexpr BatchShape kBatch = {2, 2, 1};
  constexpr int kWords = 5;
  const std::vector<int32_t> tokens = {0, 4, 2, 1, 1, 3};
  std::vector<float> logits = random_values(kBatch.positions() * kWords, 7);
  const auto run = [&](float scale) {
    std::vector<float> out = logits, losses(kBatch.positions());
    run_all(CrossEntropy{kBatch, kWords, tokens.data(), out.data(), losses.data(), scale},
            kBatch.positions());
    return scale == 0 ? losses : out;
  };
  const std::vector<float> ones(kBatch.positions(), 1);
  expect_near(run(1), differences(
                          logits, [&] { return run(0); }, ones));
}

TEST(KernelBodies, EmbeddingLooksUpTheContextAndAddsUpBackwards) {
  constexpr BatchShape kBatch = {1, 2, 2};
  const std::vector<int32_t> tokens = {1, 0, 1, 2};
  std::vector<float> table = random_values(3 * 2, 8);
  const auto forward = [&] {
    std::vector<float> out(2 * 2 * 2);
    run_all(EmbedForward{kBatch, 2, tokens.data(), table.data(), out.data()}, 4);
    return out;
  };
  EXPECT_EQ(forward(), (std::vector<float>{table[2], table[3], table[0], table[1], table[0], table[1],
                                           table[2], table[3]}));
  const std::vector<float> weights = random_values(8, 9);
  std::vector<float> gradient(table.size());
  run_all(EmbedBackward{kBatch, 2, tokens.data(), weights.data(), gradient.data()}, 3);
  expect_near(gradient, differences(table, forward, weights));
}

}  // namespace
}  // namespace reference_trainer
