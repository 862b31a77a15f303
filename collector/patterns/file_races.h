// Pairs of accesses of two ranks to one file that nothing orders: one changes, deletes or renames away what
// the other relies on.
#pragma once
#include <optional>
#include <vector>

#include "collector/files/objects.h"
#include "collector/files/shared_names.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

struct FileRace {
  const files::Object* object;
  files::Access change, use;
  ordering::Verdict verdict;  // kUnordered or kLikely; kUnjudged of an example
  bool fatal = false;         // the use failed, and its process ended of that
};

constexpr bool removes(const FileRace& race) { return race.change.kind == files::AccessKind::kRemove; }

// Pairs of which recording cannot tell whether they are ordered.
struct Unjudged {
  std::size_t pairs = 0;
  std::optional<FileRace> example;  // the first
};

struct FileRaces {
  std::vector<FileRace> races;
  Unjudged unjudged;                   // a change and a use
  Unjudged unjudged_removals;          // a removal and a use
  Unjudged unjudged_asked;             // a change and a use by who asked for the file, and found it whole
  std::size_t unjudged_parts = 0;      // of which it is not known whether they touch the same bytes
  std::size_t unjudged_additions = 0;  // of which it is not known whether the reader means what was added
  std::size_t unjudged_tries = 0;  // of a reader that waited by opening: it may be ready to read again, too
  std::size_t mapped_files = 0;    // that are written through mappings: nobody sees when
};

// Threads whose accesses will be asked about.
std::vector<ordering::ThreadId> judged_threads(const files::SharedNames& names,
                                               const std::vector<files::Object>& objects);

// Left out: looks that only wait for a name; a process that has made the name itself; what a process uses
// after it asked for the name and found it, if all that the other rank changed, and changes by that opening,
// was done by then: whether it would have waited shows in no call. Of removals: what several ranks remove, if
// none ends for not finding it; renames of one name to several, of which one succeeds and so decides who has
// it.
FileRaces find_file_races(const model::Job& job, const files::SharedNames& names,
                          const std::vector<files::Object>& objects, const ordering::HappensBefore& order);

}  // namespace ddpscope::patterns
