// A library that is compiled in several ways: code of lambdas lies outside the function that defines them,
// and clang says of no unit where its code lies.
#include <cstdint>

namespace training {

// In the innermost of two lambdas, which are inlined if the compiler optimizes.
[[gnu::noinline]] std::uintptr_t address_in_lambda() {
  auto step = [](int micro_batch) {
    auto reduce = [](int count) {
      std::uintptr_t here = 0;
      asm volatile("lea (%%rip), %0\n nop" : "=r"(here));  // line 12
      return here + (count < 0);
    };
    return reduce(micro_batch);
  };
  return step(1);
}

}  // namespace training

extern "C" std::uintptr_t address_in_lambda() { return training::address_in_lambda(); }
