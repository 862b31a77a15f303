// The sequences of cuRAND's generators, in the order in which its host interface hands them out.
#pragma once

#include <cstddef>
#include <memory>

namespace ddpscope::standin::rand {

/// What comes out, and of which type.
enum class Kind { kBits, kUniform, kUniformDouble, kNormal, kNormalDouble, kLogNormal, kLogNormalDouble };

struct Request {
  Kind kind;
  void* output;
  std::size_t count;
  double mean = 0;
  double deviation = 1;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Continues the sequence. Not for two threads at once.
  virtual void generate(const Request& request) = 0;
};

/// Begins at element `offset` of the sequence of `seed`. Null for a type that is not provided. `type`: a
/// curandRngType_t.
std::shared_ptr<Engine> make_engine(int type, unsigned long long seed, unsigned long long offset);

}  // namespace ddpscope::standin::rand
