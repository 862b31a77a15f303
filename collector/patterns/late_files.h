// Looks that come after what they look for in every run, through another mount, and do not find it: the file
// system shows it late.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

struct LateLook {
  std::uint32_t change;  // in SharedNames::events: what made the name, or opened the file to write it
  std::uint32_t closed;  // likewise: from here on it is to be seen; the change itself if it made a name
  std::uint32_t look;    // likewise: that does not show it
  std::uint32_t last;    // likewise: the last one through that mount that does not
  std::uint32_t shown;   // likewise: the first one through that mount that does; kNoEvent
  std::uint64_t seen, written;  // bytes; both 0: the name is missing
  bool made_again;              // maybe between the look and what shows it
};

struct LateLooks {
  std::vector<LateLook> looks;
  // Of folders in which a file had been made before, in every run, through another mount: which entries they
  // told is not recorded.
  std::size_t listings = 0;
};

// Threads whose looks, and the changes that they look for, will be asked about: at names that several mounts,
// or hosts, show.
std::vector<ordering::ThreadId> late_looking_threads(const model::Job& job, const files::SharedNames& names);

// Of each name and rank the first one. Left out: what somebody removes, cuts off or puts another file in the
// place of, unless that is ordered before the change or after the look; names of symbolic links, whose file
// may be missing; sizes of files that are not closed, or of which it is not known which bytes were written.
LateLooks find_late_looks(const model::Job& job, const files::SharedNames& names,
                          const ordering::HappensBefore& order);

}  // namespace ddpscope::patterns
