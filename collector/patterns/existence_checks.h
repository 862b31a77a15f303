// Ranks that ask whether a file is there while one of them makes it, and are told different things.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/model/job.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

using Look = std::uint32_t;  // index in SharedNames::events

// One name, asked for from one place of the program.
struct DivergentCheck {
  std::map<std::int32_t, Look> missed, found;  // by rank: the first of a stretch
  std::uint32_t made;                          // the event by which a rank that missed it made it
  Look unordered;      // of those that found it, one that nothing orders after the making
  bool maybe_ordered;  // if every mutex does
};

// A stretch of each rank's time, within which it looks.
struct Stretches {
  std::map<std::int32_t, std::int64_t> from_ns;  // by rank; without one from the job's start
  std::map<std::int32_t, std::int64_t> to_ns;    // by rank
};

// Looks (stat, access, opening without creation) by the ranks themselves, not by their workers. Those that
// poll are none: who asks until the file is there is not misled.
class ExistenceChecks {
 public:
  ExistenceChecks(const model::Job& job, const files::SharedNames& names,
                  const ordering::HappensBefore& order);

  // Names that in these stretches `one` side misses and the other finds, every rank of them, or the other way
  // round, though a rank that missed it makes it meanwhile, and nothing orders that before all that find it.
  // A folder is none: making it takes no time, and every program asks for those it writes to.
  std::vector<DivergentCheck> find(const Stretches& stretches, const std::set<std::int32_t>& one) const;

 private:
  using Asked = std::map<std::int32_t, std::vector<Look>>;  // by rank, by begin

  std::vector<DivergentCheck> find_of_name(files::Name name, const Stretches& stretches,
                                           const std::set<std::int32_t>& one) const;
  bool complete(DivergentCheck& check, files::Name name, const Stretches& stretches) const;
  const files::FileEvent& event(std::uint32_t index) const { return names_.events[index]; }

  const files::SharedNames& names_;
  const ordering::HappensBefore& order_;
  std::map<files::Name, Asked> asked_;                        // names that some rank misses and another finds
  std::map<files::Name, std::vector<std::uint32_t>> makers_;  // files only, by begin
};

// Threads whose looks will be asked about.
std::vector<ordering::ThreadId> looking_threads(const model::Job& job, const files::SharedNames& names);

}  // namespace ddpscope::patterns
