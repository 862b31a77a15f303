// Shows progress on standard error when it is a terminal and the work takes over a second.
#pragma once
#include <chrono>

#include "collector/reading/progress.h"

namespace ddpscope::commands {

class TerminalProgress : public reading::Progress {
 public:
  TerminalProgress();
  ~TerminalProgress() override;  // wipes the line
  void at(const char* stage, std::uint64_t done, std::uint64_t all) override;

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace ddpscope::commands
