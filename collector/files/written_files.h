// What each rank wrote: one entry for each opening of a file for writing that then got bytes.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::files {

struct Extent {
  std::uint64_t offset;
  std::uint64_t bytes;
};

// Digest of an extent, in the order in which it was written. Extents of one repeated word are left out: they
// are alike in files that have nothing else in common.
struct Digest {
  std::uint64_t hash;
  std::uint64_t bytes;

  bool operator==(const Digest&) const = default;
};

using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device and inode

struct WrittenFile {
  std::int32_t rank;
  model::EventRef open;
  std::string path;  // under which it was left: as opened, or as it or its folder was renamed later
  std::string_view opened_as;
  std::string place;  // of that path, see Places: equal for the same file
  std::uint32_t host;
  std::uint64_t device;        // differs between file systems of one host
  std::uint64_t inode;         // the same while two have it open: the same content, whatever the names
  std::int64_t begin_ns;       // of the opening
  std::int64_t open_ns;        // the opening had returned
  std::int64_t last_write_ns;  // the last write began: until then the file was held open
  std::int64_t end_ns;         // of the last write
  std::int64_t synced_ns = 0;  // a sync after the last write returned; 0: none did
  std::uint16_t open_thread, last_thread;  // that opened it, that wrote last
  std::uint64_t bytes = 0;
  bool append = false;     // opened with O_APPEND
  bool truncate = false;   // opened with O_TRUNC or O_CREAT|O_EXCL: it had no other content
  bool exclusive = false;  // opened with O_CREAT|O_EXCL: nothing had the name `opened_as`
  bool inherited = false;  // the descriptor came from the parent: it shares its position with others
  std::set<FileId> locks;  // files on which the process held a lock of its own while it wrote
  // Names that the process had made exclusively and not removed while it wrote: locks on network file
  // systems.
  std::set<std::string_view> lock_names;
  std::vector<Extent> extents;  // where it is known
  std::vector<Digest> digests;
};

// Those of ranks and of the processes that work for them, by begin. Files that many jobs share and that no
// reader misses are left out: byte code, kernel caches, /proc, /sys, devices and shared memory (design: the
// default ignore list).
std::vector<WrittenFile> find_written_files(const model::Job& job);

}  // namespace ddpscope::files
