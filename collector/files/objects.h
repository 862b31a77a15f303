// What accesses can conflict on: names and contents of files. A file written under one name and read under
// another is one content; a name that means one file after another is one name.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

enum class AccessKind : std::uint8_t {
  kMake,   // of a name: from here on it means something; before it meant nothing
  kOpen,   // of a name: it has to be there
  kMiss,   // of a name: it was not there, and its process never came by it later
  kWrite,  // of a content: written, truncated, flushed by fclose
  kRead,   // of a content
  kMap,    // of a content: what is mapped is read at any time from then on
};
constexpr bool changes(AccessKind kind) { return kind == AccessKind::kMake || kind == AccessKind::kWrite; }

struct Access {
  AccessKind kind;
  std::uint32_t event;    // in SharedNames::events
  std::uint32_t opening;  // likewise: where the access comes from; the event itself if it is no transfer
  bool inherited;         // through a descriptor that the parent gave
};

struct Object {
  bool content;
  Name name;                     // as last opened
  std::vector<Access> accesses;  // by begin
  bool shared_memory = false;    // a content that is written through mappings, too: nobody sees when
};

// Those that two ranks touch and one of them changes. An inode number is given again: a content ends where
// its name is removed or replaced, or where one is made exclusively.
std::vector<Object> find_objects(const model::Job& job, const SharedNames& names);

}  // namespace ddpscope::files
