// What parts of a job that train apart leave behind: does each have a result, or is work thrown away?
#pragma once
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/patterns/connections.h"
#include "collector/patterns/trainings.h"

namespace ddpscope::detectors {

struct KeptWork {
  enum class Kind : std::uint8_t {
    kUnknown,      // each may be a run of its own, or nothing was saved
    kOneSaves,     // what the other parts train is in no file
    kAllOverwrite  // each saves over what the others have saved
  };
  Kind kind = Kind::kUnknown;
  std::vector<const files::WrittenFile*> saves;  // a file a part, of those that save
  std::size_t times = 0;                         // that the first of them saves
};

constexpr std::uint64_t kLeastSave = 4096;  // bytes: less is a log

// A save is a file of at least kLeastSave that a rank writes once it trains; a log, which is appended to, is
// none. Of the other parts' work nothing is left only if they write nothing at all from then on, be it a line
// of results.
KeptWork find_kept_work(const Facts& facts, const patterns::Parts& parts,
                        const std::vector<patterns::Training>& trainings);

}  // namespace ddpscope::detectors
