// NVIDIA's own definition of each generator, curand_kernel.h, compiled for the CPU.
//
// The host interface runs a fixed number of generators side by side, each with a subsequence of its own, and
// takes from them in turn: XORWOW and MRG32k3a 4096, one element at a time; Philox 65536, four elements at a
// time. Normally distributed elements come in pairs.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <vector>
#define QUALIFIERS static inline
#include <curand.h>
#include <curand_kernel.h>

#include "standin/curand/engine.h"

namespace ddpscope::standin::rand {
namespace {

/// Most elements that one generator gives at its turn.
constexpr std::size_t kMost = 4;

template <class State>
struct Layout {
  static constexpr std::size_t kGenerators = 4096;
  static constexpr std::size_t kAtATime = 1;
};
template <>
struct Layout<curandStatePhilox4_32_10_t> {
  static constexpr std::size_t kGenerators = 65536;
  static constexpr std::size_t kAtATime = 4;
};

// One turn of a generator: `to` gets as many elements as it returns.

template <class State>
std::size_t bits(State& state, unsigned* to) {
  *to = curand(&state);
  return 1;
}
template <class State>
std::size_t uniform(State& state, float* to) {
  *to = curand_uniform(&state);
  return 1;
}
template <class State>
std::size_t uniform(State& state, double* to) {
  *to = curand_uniform_double(&state);
  return 1;
}
template <class State>
std::size_t normal(State& state, float* to) {
  const float2 pair = curand_normal2(&state);
  to[0] = pair.x;
  to[1] = pair.y;
  return 2;
}
template <class State>
std::size_t normal(State& state, double* to) {
  const double2 pair = curand_normal2_double(&state);
  to[0] = pair.x;
  to[1] = pair.y;
  return 2;
}

std::size_t bits(curandStatePhilox4_32_10_t& state, unsigned* to) {
  const uint4 four = curand4(&state);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  return 4;
}
std::size_t uniform(curandStatePhilox4_32_10_t& state, float* to) {
  const float4 four = curand_uniform4(&state);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  return 4;
}
std::size_t uniform(curandStatePhilox4_32_10_t& state, double* to) {
  for (double* pair : {to, to + 2}) {
    const double2 two = curand_uniform2_double(&state);
    pair[0] = two.x, pair[1] = two.y;
  }
  return 4;
}
std::size_t normal(curandStatePhilox4_32_10_t& state, float* to) {
  const float4 four = curand_normal4(&state);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  return 4;
}
std::size_t normal(curandStatePhilox4_32_10_t& state, double* to) {
  for (double* pair : {to, to + 2}) {
    const double2 two = curand_normal2_double(&state);
    pair[0] = two.x, pair[1] = two.y;
  }
  return 4;
}

template <class State>
class Generators : public Engine {
 public:
  Generators(unsigned long long seed, unsigned long long offset)
      : seed_(seed),
        offset_(offset / kAtATime),
        turn_(offset_ % kGenerators),
        within_(offset % kAtATime),
        states_(kGenerators),
        begun_(kGenerators) {}

  void generate(const Request& request) override {
    switch (request.kind) {
      case Kind::kBits:
        return fill<unsigned>(request, [](State& state, unsigned* to) { return bits(state, to); });
      case Kind::kUniform:
        return fill<float>(request, [](State& state, float* to) { return uniform(state, to); });
      case Kind::kUniformDouble:
        return fill<double>(request, [](State& state, double* to) { return uniform(state, to); });
      case Kind::kNormal:
        return fill_normal<float>(request, [](float x) { return x; });
      case Kind::kNormalDouble:
        return fill_normal<double>(request, [](double x) { return x; });
      case Kind::kLogNormal:
        return fill_normal<float>(request, [](float x) { return std::exp(x); });
      case Kind::kLogNormalDouble:
        return fill_normal<double>(request, [](double x) { return std::exp(x); });
    }
  }

 private:
  static constexpr std::size_t kGenerators = Layout<State>::kGenerators;
  static constexpr std::size_t kAtATime = Layout<State>::kAtATime;

  /// Where the sequence begins at an offset, the first generators are one turn ahead of the others.
  State& state(std::size_t generator) {
    if (!begun_[generator]) {
      const unsigned long long turns = offset_ / kGenerators + (generator < offset_ % kGenerators);
      curand_init(seed_, generator, turns * kAtATime, &states_[generator]);
      begun_[generator] = true;
    }
    return states_[generator];
  }

  // A turn that a request does not use up is made again by the next one, which skips what was used.
  template <class Out, class Turn>
  void fill(const Request& request, Turn turn) {
    auto* const output = static_cast<Out*>(request.output);
    Out elements[kMost];
    for (std::size_t written = 0; written < request.count;) {
      State& current = state(turn_);
      const State before = current;
      const std::size_t had = turn(current, elements);
      std::size_t next = within_;
      while (next < had && written < request.count) output[written++] = elements[next++];
      within_ = next < had ? next : 0;
      if (within_ != 0)
        current = before;
      else
        turn_ = (turn_ + 1) % kGenerators;
    }
  }

  template <class Out, class Shape>
  void fill_normal(const Request& request, Shape shape) {
    const auto mean = static_cast<Out>(request.mean), deviation = static_cast<Out>(request.deviation);
    fill<Out>(request, [=](State& state, Out* to) {
      const std::size_t had = normal(state, to);
      for (std::size_t i = 0; i < had; ++i) to[i] = shape(mean + deviation * to[i]);
      return had;
    });
  }

  unsigned long long seed_;
  unsigned long long offset_;  ///< in turns
  std::size_t turn_;           ///< whose it is
  std::size_t within_;         ///< elements of that turn that are used
  std::vector<State> states_;
  std::vector<bool> begun_;
};

}  // namespace

std::shared_ptr<Engine> make_engine(int type, unsigned long long seed, unsigned long long offset) {
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
      return std::make_shared<Generators<curandStateXORWOW_t>>(seed, offset);
    case CURAND_RNG_PSEUDO_MRG32K3A:
      return std::make_shared<Generators<curandStateMRG32k3a_t>>(seed, offset);
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      return std::make_shared<Generators<curandStatePhilox4_32_10_t>>(seed, offset);
    default:
      return nullptr;
  }
}

}  // namespace ddpscope::standin::rand
