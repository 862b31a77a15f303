// Looks that come after what they look for in every run, through another mount, and do not find it: the file
// system shows it late.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

enum class Late : std::uint8_t {
  kName,     // is missing
  kSize,     // is less than was written
  kVersion,  // another file has taken the place of the one that is found
  kEntry,    // is missing in a listing of its folder
};

struct LateLook {
  Late kind;
  files::Name name;
  std::uint32_t change;  // in SharedNames::events: what made the name, or opened the file to write it
  std::uint32_t closed;  // likewise: from here on it is to be seen; the change itself if it made a name
  std::uint32_t look;    // likewise: that does not show it
  std::uint32_t last;    // likewise: the last one through that mount that does not
  std::uint32_t shown = files::kNoEvent;  // likewise: the first one through that mount that does
  std::uint32_t older = files::kNoEvent;  // of a version, likewise: what told before that it was there
  std::uint32_t there = files::kNoEvent;  // of an entry, likewise: what found it later through another mount
  std::uint64_t seen = 0, written = 0;    // of a size: bytes; of an entry: how many others were told
  bool made_again = false;                // maybe between the look and what shows it
};

struct LateLooks {
  std::vector<LateLook> looks;
  // Of folders in which a file had been made before, in every run, through another mount: which entries they
  // told is not known.
  std::size_t listings = 0;
  // That did not tell such a file, and nothing shows that nobody outside the job had taken it away.
  std::size_t unproven_listings = 0;
  // Looks at names under which there had been two files, where clients may make inode numbers up: which of
  // them they found is not known.
  std::size_t versions = 0;
};

// Threads whose looks, and the changes that they look for, will be asked about: at names that several mounts,
// or hosts, show.
std::vector<ordering::ThreadId> late_looking_threads(const model::Job& job, const files::SharedNames& names);

// Of each name and rank the first one. Left out: what somebody removes, cuts off or puts another file in the
// place of, unless that is ordered before the change or after the look; names of symbolic links, whose file
// may be missing; entries of which nothing shows that they still were there when the folder was listed, or
// whose names a file system may tell in another form; sizes of files that are not closed, or of which it is
// not known which bytes were written; versions whose inode was not told through another mount.
LateLooks find_late_looks(const model::Job& job, const files::SharedNames& names,
                          const ordering::HappensBefore& order);

}  // namespace ddpscope::patterns
