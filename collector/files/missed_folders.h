// Folders in which a rank could make nothing because they were not there.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

// A call that makes a file or a folder needs the folder above it: that it fails for want of it is a look at
// that folder, and that one of the same thread succeeds later is another.
class MissedFolders {
 public:
  // In vain this rank tries to make this name.
  void note(Name name, std::int32_t rank) {
    if (name != kNoName) missed_.emplace(name, rank);
  }

  // Calls `touch` for each folder that has a name of its own, and each rank that misses it.
  template <class Touch>
  void find(const std::map<std::string, Name>& by_place, const std::vector<std::string>& places,
            Touch touch) {
    for (auto [name, rank] : missed_) {
      const std::string& place = places[name];
      auto folder = by_place.find(std::string(folder_of(place)));
      if (folder == by_place.end()) continue;
      touch(folder->second, rank);
      for_each_below(by_place, folder->first, [&](Name below) {
        if (folder_of(places[below]) == folder->first) folder_of_[below] = folder->second;
      });
    }
  }

  bool concern(Name name) const { return folder_of_.contains(name); }

  // What an attempt to make a file says of its folder.
  std::optional<FileEvent> look(const FileEvent& attempt);

 private:
  std::set<std::pair<Name, std::int32_t>> missed_;
  std::map<Name, Name> folder_of_;
  std::set<std::tuple<std::uint32_t, std::uint16_t, Name>> waiting_;  // processes, threads and folders
};

}  // namespace ddpscope::files
