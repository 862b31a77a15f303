// What is wrong with a text trace; thrown inside the compiler, an Error outside of it.
#pragma once
#include <string>

namespace ddpscope::tests {

struct Mistake {
  std::string what;
  std::string hint = {};
  int line = 0;  // 0: not known yet, filled in where lines are counted
};

}  // namespace ddpscope::tests
