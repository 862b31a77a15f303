// `run --on-hang CMD`: looks at the job that is being recorded, and runs CMD once a stall.
#pragma once
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>

#include "collector/commands/folder_use.h"
#include "collector/live/look.h"

namespace ddpscope::commands {

// Looks once a second, less often where a look takes long: at most a fiftieth of a processor, but every two
// seconds at least. CMD gets DDPSCOPE_TRACE, the folder, and DDPSCOPE_FINDING, the finding as one line of
// JSON (as in `report --format json`). It runs once for each stall; the same stall, ended and come again, is
// another one. Of several runs that record into the folder one looks; when it ends, another one goes on, and
// what was told while it lasts is not told again. What it fails at is said and changes nothing.
class HangWatch {
 public:
  // An empty command: does nothing. `use` has to live longer.
  HangWatch(std::filesystem::path folder, const FolderUse& use, std::string command);
  ~HangWatch();  // waits for a look, but not for the command
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

 private:
  void watch(const std::stop_token& stop) const;
  void run_for(const findings::Finding& finding, const std::stop_token& stop) const;

  std::filesystem::path folder_;
  const FolderUse& use_;
  std::string command_;
  std::jthread thread_;
};

}  // namespace ddpscope::commands
