// Files to whose end several ranks add, and who among them reads them: a log of all, a table of results.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "collector/files/objects.h"
#include "collector/files/shared_names.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

class Additions {
 public:
  Additions(const files::SharedNames& names, const ordering::HappensBefore& order)
      : names_(names), order_(order) {}

  // The questions below are about this one.
  void look_at(const files::Object& object);

  // Of a change and the end of the file, as somebody found it who adds to it: whether the one adds something
  // that the other would have read.
  bool concern(const files::Access& change, const files::Access& use) const;

  // Whether the change adds something, and who uses the file adds to it as well.
  bool among(const files::Access& change, const files::Access& use) const;

  // Through the same opening.
  bool reads_to_end(const files::Access& use) const { return read_to_end_.contains(use.opening); }

  // Of such a pair. Ranks that add to one file do alike: who has added its own, and then reads to the end
  // without having heard of the other one since, does not wait for what that one adds. Who has heard may mean
  // what was there by then, and bear what comes later; who does not read to the end need not mean any of it.
  bool waits_for_nobody(const files::Access& change, const files::Access& use) const;

 private:
  const files::FileEvent& event(std::uint32_t index) const { return names_.events[index]; }
  bool adds(const files::Access& access) const;
  const files::Access* last_before(const files::Access& use) const;

  const files::SharedNames& names_;
  const ordering::HappensBefore& order_;
  std::map<ordering::ThreadId, std::vector<const files::Access*>> additions_;  // by begin
  std::set<std::uint32_t> adding_;                                             // processes
  std::set<std::uint32_t> read_to_end_;                                        // openings
  std::map<std::uint32_t, std::uint64_t> read_from_;  // by opening: the first byte that was read through it
};

}  // namespace ddpscope::patterns
