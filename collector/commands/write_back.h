// What this host's processes record, for those who look from other hosts: a file that is mapped reaches
// shared storage when the kernel finds time, after 30 s or more.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "collector/commands/folder_use.h"

namespace ddpscope::commands {

// Whether traces of other hosts are there, on a file system that shows them late (by its type in
// /proc/self/mountinfo).
bool may_be_late(const std::filesystem::path& folder);

// Within this somebody's question is seen by a run.
constexpr std::chrono::milliseconds kAskedEach{250};

// As long as somebody looks (FolderLook), has the kernel write back the traces of this host, without waiting
// for a disk. What it fails at is left to the kernel. On other storage it does nothing.
class WriteBack {
 public:
  WriteBack(std::filesystem::path folder, const FolderUse& use);  // `use` has to live longer

 private:
  void serve(const std::stop_token& stop) const;
  void write_back() const;

  std::filesystem::path folder_;
  const FolderUse& use_;
  std::string host_;
  std::jthread thread_;
};

}  // namespace ddpscope::commands
