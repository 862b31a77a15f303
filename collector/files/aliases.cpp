// Looks up what was found among what was made.
#include "collector/files/aliases.h"

#include <algorithm>

namespace ddpscope::files {
namespace {

bool is_network(std::string_view storage) {
  return !std::all_of(storage.begin(), storage.end(),
                      [](char letter) { return letter >= '0' && letter <= '9'; });
}

}  // namespace

Inode inode_at(std::string_view place, std::uint64_t device, std::uint64_t inode) {
  std::string_view storage = place.substr(0, place.find('!'));
  if (storage.starts_with("fuse ")) return {place, 0, 0};
  return {storage, is_network(storage) ? 0 : device, inode};
}

// Programs ask for the same names again and again.
void Aliases::find(Name name, std::int32_t rank, std::uint64_t device, std::uint64_t inode) {
  if (name == kNoName || !inode) return;
  if (latest_.size() <= name) latest_.resize(name + 1);
  Sighting sighting{inode, device, name, rank};
  if (latest_[name] && found_[latest_[name] - 1] == sighting) return;
  found_.push_back(sighting);
  latest_[name] = static_cast<std::uint32_t>(found_.size());
}

std::vector<Name> Aliases::names(const std::vector<std::string>& places) {
  std::sort(made_.begin(), made_.end());
  made_.erase(std::unique(made_.begin(), made_.end()), made_.end());
  std::vector<Name> names;
  for (const Sighting& found : found_) {
    auto by_inode = [](const Sighting& a, const Sighting& b) { return a.inode < b.inode; };
    auto [first, last] = std::equal_range(made_.begin(), made_.end(), found, by_inode);
    for (; first != last; ++first) {
      const Sighting& maker = *first;
      if (maker.name == found.name || maker.rank == found.rank) continue;
      if (inode_at(places[maker.name], maker.device, maker.inode) !=
          inode_at(places[found.name], found.device, found.inode))
        continue;
      names.push_back(maker.name);
      names.push_back(found.name);
    }
  }
  return names;
}

}  // namespace ddpscope::files
