// As what each process has last opened a file.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

class OpenedFiles {
 public:
  explicit OpenedFiles(std::size_t processes) : opened_(processes) {}

  // kNoName: as one that does not count.
  void note(std::uint32_t process, std::uint64_t device, std::uint64_t inode, Name name) {
    if (name != kNoName)
      opened_[process].insert_or_assign({device, inode}, name);
    else
      opened_[process].erase({device, inode});
  }
  Name as(std::uint32_t process, std::uint64_t device, std::uint64_t inode) const {
    auto opened = opened_[process].find({device, inode});
    return opened == opened_[process].end() ? kNoName : opened->second;
  }

 private:
  std::vector<std::map<std::pair<std::uint64_t, std::uint64_t>, Name>> opened_;
};

}  // namespace ddpscope::files
