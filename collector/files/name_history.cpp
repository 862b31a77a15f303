// Replays what the job learns of its names.
#include "collector/files/name_history.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/files/aliases.h"

namespace ddpscope::files {
namespace {

using trace::Operation;

Name made_by(const FileEvent& event) {
  if (event.error) return kNoName;
  if (event.operation == Operation::kOpen) return event.flags & O_CREAT ? event.name : kNoName;
  if (event.operation == Operation::kMakeDirectory) return event.name;
  bool names = event.operation == Operation::kRename || event.operation == Operation::kLink;
  return names ? event.target : kNoName;
}

// Transfers, the most of all events, neither make nor need a name.
bool concerns_name(Operation operation) {
  return operation == Operation::kOpen ||
         (operation >= Operation::kRename && operation <= Operation::kReadDirectory);
}

// Under which name each file lives that the job has made.
class Bearers {
 public:
  explicit Bearers(SharedNames& names) : names_(names) {
    for (Name name = 0; name < names.places.size(); ++name) by_place_.emplace(names.places[name], name);
  }

  // What made the file that this look finds, if under another name.
  std::uint32_t maker_of(const FileEvent& look) const {
    bool finds = is_look(look) || look.by_descriptor;
    if (!finds || look.error || !look.inode) return kNoEvent;
    Inode inode = inode_at(names_.places[look.name], look.device, look.inode);
    auto bearer = bearers_.find(inode);
    auto own = inodes_.find(look.name);
    bool own_name = own != inodes_.end() && own->second == inode;
    return bearer == bearers_.end() || own_name ? kNoEvent : bearer->second.maker;
  }

  void follow(std::uint32_t index) {
    FileEvent& event = names_.events[index];
    if (event.error) return;
    if (event.operation == Operation::kRename) return rename(index);
    if (event.operation == Operation::kUnlink || event.operation == Operation::kRemoveDirectory)
      return forget(event.name);
    bool anew = event.made != kNoName && event.fresh;
    if (anew && event.inode)
      give(event.made, inode_at(names_.places[event.made], event.device, event.inode), index);
    bool links = event.operation == Operation::kLink;
    if (links && event.name == kNoName) symbolic_.insert(event.target);
  }

 private:
  struct Bearer {
    Name name;
    std::uint32_t maker;
  };

  void give(Name name, const Inode& inode, std::uint32_t maker) {
    inodes_[name] = inode;
    bearers_[inode] = {name, maker};
  }

  void forget(Name name) {
    symbolic_.erase(name);
    auto known = inodes_.find(name);
    if (known == inodes_.end()) return;
    auto bearer = bearers_.find(known->second);
    if (bearer != bearers_.end() && bearer->second.name == name) bearers_.erase(bearer);
    inodes_.erase(known);
  }

  void rename(std::uint32_t index) {
    FileEvent& event = names_.events[index];
    bool symbolic = symbolic_.contains(event.name);
    if (event.name != kNoName) forget(event.name);
    if (event.target == kNoName) return;
    forget(event.target);
    if (symbolic) {
      symbolic_.insert(event.target);
      event.inode = 0;  // the link's own: who looks finds what it leads to
    } else if (event.inode) {
      give(event.target, inode_at(names_.places[event.target], event.device, event.inode), index);
    }
    if (event.name != kNoName) move_below(event, index);
  }

  // What is in a folder goes with it.
  void move_below(const FileEvent& event, std::uint32_t index) {
    std::vector<std::pair<Name, Inode>> moved;
    const std::string& from = names_.places[event.name];
    for_each_below(by_place_, from, [&](Name name) {
      if (auto known = inodes_.find(name); known != inodes_.end()) moved.emplace_back(name, known->second);
    });
    for (const auto& [name, inode] : moved) {
      forget(name);
      auto now = by_place_.find(names_.places[event.target] + names_.places[name].substr(from.size()));
      if (now != by_place_.end()) inodes_[now->second] = inode;
      bearers_[inode] = {now == by_place_.end() ? event.target : now->second, index};
    }
  }

  SharedNames& names_;
  std::map<std::string_view, Name> by_place_;
  std::map<Inode, Bearer> bearers_;
  std::map<Name, Inode> inodes_;  // that the job itself has given the name
  std::set<Name> symbolic_;       // links
};

}  // namespace

bool is_look(const FileEvent& event) {
  bool asks = event.operation == Operation::kStat || event.operation == Operation::kAccess;
  return event.operation == Operation::kOpen || (asks && !event.by_descriptor);
}

bool is_miss(const FileEvent& event) {
  return is_look(event) && (event.error == ENOENT || event.error == ENOTDIR);
}

bool shares_writes(std::uint64_t protection, std::uint64_t flags) {
  return protection & PROT_WRITE && flags & MAP_SHARED;
}

bool removes(const FileEvent& event) {
  return !event.error && (event.operation == Operation::kRename || event.operation == Operation::kUnlink ||
                          event.operation == Operation::kRemoveDirectory);
}

bool lists(Operation operation) {
  return operation == Operation::kOpenDirectory || operation == Operation::kReadDirectory;
}

void mark_makers(SharedNames& names, const std::vector<MadeOutside>& outside) {
  std::unordered_set<Name> exists;
  auto next = outside.begin();
  Bearers bearers(names);
  for (std::uint32_t i = 0; i < names.events.size(); ++i) {
    FileEvent& event = names.events[i];
    if (!concerns_name(event.operation)) continue;
    for (; next != outside.end() && next->at_ns <= event.begin_ns; ++next) exists.insert(next->name);
    event.made = made_by(event);
    event.maker = bearers.maker_of(event);
    bool exclusive = event.flags & O_EXCL || event.operation == Operation::kLink;
    bool known = exists.contains(event.made) || event.maker != kNoEvent;
    event.fresh = event.made != kNoName && (exclusive || !known);
    if (removes(event) || is_miss(event)) exists.erase(event.name);
    if (is_look(event) && !event.error) exists.insert(event.name);
    if (event.made != kNoName) exists.insert(event.made);
    bearers.follow(i);
  }
}

}  // namespace ddpscope::files
