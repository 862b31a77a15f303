// Programs that are tests' guests: of several things to do, one by name.
#pragma once
#include <cstring>
#include <span>

struct Story {
  const char* name;
  void (*run)();
};

// Does what is called `name` (nullptr: nothing is). The exit code: 2 if there is no such story.
inline int tell(std::span<const Story> stories, const char* name) {
  for (const Story& story : stories) {
    if (!name || std::strcmp(story.name, name) != 0) continue;
    story.run();
    return 0;
  }
  return 2;
}
