// Folders that ranks list, or ask for the state of again and again: what comes and goes in them may be what
// they wait for.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

// By which ranks.
struct Touched {
  std::int32_t rank = -1;
  bool several = false, changed = false;

  void add(std::int32_t by, bool changes) {
    several = several || (rank >= 0 && rank != by);
    rank = by;
    changed = changed || changes;
  }
};

class AwaitedFolders {
 public:
  void list(Name folder, std::int32_t rank) {
    if (folder != kNoName) listed_[folder].add(rank, false);
  }
  // A link that was listed, and where it leads.
  void list(Name link, Name folder, std::int32_t rank) {
    list(folder, rank);
    if (link != kNoName && folder != kNoName) led_.emplace(link, folder);
  }
  // What is asked for may be a file as well. `times`: of one record.
  void ask(Name name, std::int32_t rank, std::uint32_t times) {
    if (name == kNoName) return;
    Asked& asked = asked_[name];
    asked.by.add(rank, false);
    asked.times += times;
  }

  // The one that was found by a link is the other, which was made.
  void ask_as(Name found, Name made) {
    auto known = asked_.find(found);
    if (known == asked_.end()) return;
    Asked own = known->second;
    Asked& asked = asked_[made];
    asked.by.add(own.by.rank, false);
    asked.by.several = asked.by.several || own.by.several;
    asked.times += own.times;
  }

  template <class Visit>  // visit(folder, by which ranks)
  void for_each(Visit visit) const {
    for (const auto& [folder, by] : listed_) visit(folder, by);
    for (const auto& [folder, asked] : asked_)
      if (asked.times >= kWaiting) visit(folder, asked.by);
  }
  const std::set<std::pair<Name, Name>>& led() const { return led_; }

 private:
  static constexpr std::uint64_t kWaiting = 3;  // who asks less often does not wait, see asking_edges.cpp
  struct Asked {
    Touched by;
    std::uint64_t times = 0;
  };
  std::map<Name, Touched> listed_;
  std::map<Name, Asked> asked_;
  std::set<std::pair<Name, Name>> led_;
};

}  // namespace ddpscope::files
