// How far a long piece of work has come. The library reports, the program decides whether to show it.
#pragma once
#include <cstdint>

namespace ddpscope::reading {

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void at(const char* stage, std::uint64_t done, std::uint64_t all) = 0;
};

// For who shows nothing.
class Silent : public Progress {
  void at(const char*, std::uint64_t, std::uint64_t) override {}
};

}  // namespace ddpscope::reading
