// What the dynamic linker loaded, by an address in it. dladdr would wait for a dlopen in another thread,
// which may be waiting for this one.
#pragma once
#include <link.h>

#include <cstdint>

namespace ddpscope::injector {

struct LoadedObject {
  std::uintptr_t start;  // of its first mapping
  std::uintptr_t end;    // of its last one
  const link_map* map;   // its identity, too, as long as it is loaded
};

// False: no code that the dynamic linker loaded. Takes no lock, allocates nothing.
bool find_loaded_object(std::uintptr_t address, LoadedObject* object);

// The same without the index that glibc has had since 2.35: by /proc/self/maps and the list for debuggers.
// What was found is kept.
bool find_loaded_object_by_maps(std::uintptr_t address, LoadedObject* object);

}  // namespace ddpscope::injector
