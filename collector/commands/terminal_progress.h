// Shows progress on standard error when it is a terminal and the work takes over a second.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "collector/commands/command.h"
#include "collector/reading/progress.h"
#include "collector/reading/read_trace.h"

namespace ddpscope::commands {

class TerminalProgress : public reading::Progress {
 public:
  TerminalProgress();
  ~TerminalProgress() override;  // wipes the line
  void at(const char* stage, std::uint64_t done, std::uint64_t all) override;

 private:
  void show(std::stop_token stop);

  std::mutex mutex_;  // of what follows
  std::condition_variable_any stopped_;
  const char* stage_ = "starting";
  std::uint64_t done_ = 0, all_ = 0;
  std::jthread thread_;  // a stage may take long without a word
};

// The line is gone when it returns: what is printed then may go to the same terminal.
Result<reading::Reading> read_with_progress(const TraceOptions& options);

}  // namespace ddpscope::commands
