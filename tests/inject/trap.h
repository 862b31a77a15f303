// What a guest program is told to do: one of its traps, by name.
#pragma once
#include <string.h>

#include <cstddef>

struct Trap {
  const char* name;
  void (*run)();
};

// The one that the only argument names; nullptr: it names none, or there are others.
template <std::size_t kTraps>
const Trap* find_trap(const Trap (&traps)[kTraps], int argc, char** argv) {
  if (argc != 2) return nullptr;
  for (const Trap& trap : traps)
    if (strcmp(argv[1], trap.name) == 0) return &trap;
  return nullptr;
}
