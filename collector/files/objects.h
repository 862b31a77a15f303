// What accesses can conflict on: names and contents of files. A file written under one name and read under
// another is one content; a name that means one file after another is one name.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::files {

enum class AccessKind : std::uint8_t {
  kMake,    // of a name: from here on it means something; before it meant nothing
  kOpen,    // of a name: it has to be there
  kMiss,    // of a name: it was not there, and its process never came by it later
  kWrite,   // of a content: written, truncated, flushed by fclose
  kRead,    // of a content
  kEnd,     // of a content: it was read to its end, which was there
  kMap,     // of a content: what is mapped is read at any time from then on
  kPut,     // of a name: data was left under it, whatever it meant before
  kList,    // of a name, a folder's: its entries were read
  kRemove,  // of a name: it means nothing from here on; deleted or renamed away, itself or with its folder
  kVain,    // of a name: a call that does not wait for it failed because it, or its folder, was not there
};
constexpr bool changes(AccessKind kind) { return kind == AccessKind::kMake || kind == AccessKind::kWrite; }
// What goes wrong, or is undone, if a change comes at another time.
constexpr bool relies_on_change(AccessKind kind) {
  return kind == AccessKind::kOpen || kind == AccessKind::kMiss || kind == AccessKind::kRead ||
         kind == AccessKind::kEnd || kind == AccessKind::kMap;
}
// Likewise if a removal does.
constexpr bool relies_on_name(AccessKind kind) {
  return kind == AccessKind::kOpen || kind == AccessKind::kMiss || kind == AccessKind::kPut ||
         kind == AccessKind::kList || kind == AccessKind::kVain;
}

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
