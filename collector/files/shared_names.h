// The names of files that two ranks touch and one of them changes, and all that the job does with them.
#pragma once
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/model/job.h"
#include "trace/read/table.h"

namespace ddpscope::files {

using Name = std::uint32_t;  // index in SharedNames::places
constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kNoEvent = std::numeric_limits<std::uint32_t>::max();
constexpr Name kNoName = std::numeric_limits<std::uint32_t>::max();

// An opening, look-up, change of a name, or a transfer through an opening.
struct FileEvent {
  model::EventRef event;
  std::int32_t rank;
  std::uint16_t thread;
  trace::Operation operation;
  Name name;              // kNoName: what is renamed or linked has no name that counts
  Name target = kNoName;  // of a rename or link; of a listing: the folder's own name, if links lead to it
  std::int64_t begin_ns, end_ns;
  std::uint64_t device = 0, inode = 0;  // 0 where the call does not tell
  std::uint32_t flags = 0;              // of an opening; of a mapping: its protection and, above, its flags
  std::uint32_t opening = 0;            // number in its process; 0 if it failed
  std::uint32_t attempts = 1;           // that one record stands for
  std::int32_t error = 0;
  std::uint64_t bytes = 0;  // transferred
  std::uint64_t from = 0,
                to = kWhole;  // of the file: what is transferred, changed or mapped, as far as known
  bool part = false;          // from and to are known
  Name made = kNoName;        // the name that this call gave a meaning, or another one
  bool fresh = false;         // that name meant nothing before, as far as the job's calls tell
  // Of a look that found what the job had made under another name: the call that gave it that name.
  std::uint32_t maker = kNoEvent;  // in SharedNames::events
  bool aside = false;  // of a file that no other rank touches: it counts for who waits for its folder only
  bool by_descriptor = false;  // asks for the state of a file that is open: it says nothing of the name
};

bool is_look(const FileEvent& event);  // at a name: stat, access, open
bool is_miss(const FileEvent& event);  // such a one that found nothing
// A mapping whose writes others see; protection and flags as mmap() takes them.
bool shares_writes(std::uint64_t protection, std::uint64_t flags);
bool removes(const FileEvent& event);    // its name has no meaning from here on
bool lists(trace::Operation operation);  // the entries of a folder, or begins to

// Of a place the folder above.
inline std::string_view folder_of(std::string_view place) { return place.substr(0, place.rfind('/')); }

// The names in a folder, however deep; `by_place`: a map from places to names.
template <class ByPlace, class Visit>
void for_each_below(const ByPlace& by_place, const std::string& folder, Visit visit) {
  std::string below = folder + "/";
  for (auto it = by_place.lower_bound(below); it != by_place.end() && it->first.starts_with(below); ++it)
    visit(it->second);
}

struct SharedNames {
  std::vector<std::string> places;  // see Places
  std::vector<std::string> paths;   // as one process names each
  std::vector<bool> ignored;        // by name: its file is nobody's data, but who waits for it does wait
  std::vector<bool> judged;         // by name: its file is data that ranks share under this name
  trace::Table<FileEvent> events;   // by begin
  std::set<std::pair<std::uint64_t, std::uint64_t>> locked;   // device and inode of what somebody locked
  std::set<std::pair<std::uint32_t, std::uint32_t>> locking;  // processes and openings by which they locked
};

// Of ranks and of the processes that work for them. A file that is renamed,
// itself or with its folder, takes its whole history along.
SharedNames find_shared_names(const model::Job& job);

}  // namespace ddpscope::files
