// Names that a rename makes one: the same file, or one in the same folder, before and after.
#pragma once
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

class Families {
 public:
  void add() { parent_.push_back(static_cast<Name>(parent_.size())); }
  Name find(Name name) {
    while (parent_[name] != name) name = parent_[name] = parent_[parent_[name]];
    return name;
  }
  void join(Name a, Name b) { parent_[find(b)] = find(a); }

 private:
  std::vector<Name> parent_;
};

}  // namespace ddpscope::files
