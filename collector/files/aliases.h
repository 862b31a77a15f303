// Files that one rank makes under one name and another finds under another: through a symbolic link or a bind
// mount, or by a second hard link. The inode tells.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

// Storage, device, inode. Clients of a network file system have devices of their own: theirs count as 0.
// Those of FUSE may make inode numbers up, each its own: what tells a file there is its place.
using Inode = std::tuple<std::string_view, std::uint64_t, std::uint64_t>;
// `place` outlives what is returned.
Inode inode_at(std::string_view place, std::uint64_t device, std::uint64_t inode);

class Aliases {
 public:
  void make(Name name, std::int32_t rank, std::uint64_t device, std::uint64_t inode) {
    if (name != kNoName && inode) made_.push_back({inode, device, name, rank});
  }
  void find(Name name, std::int32_t rank, std::uint64_t device, std::uint64_t inode);

  // Names by which different ranks make and find one file: pairs, one after the other, each once or more. By
  // name in `places`.
  std::vector<Name> names(const std::vector<std::string>& places);

 private:
  struct Sighting {
    std::uint64_t inode, device;
    Name name;
    std::int32_t rank;
    auto operator<=>(const Sighting&) const = default;
  };

  std::vector<Sighting> made_, found_;
  std::vector<std::uint32_t> latest_;  // by name: the last in found_, plus 1
};

}  // namespace ddpscope::files
