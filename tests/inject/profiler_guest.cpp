// profiler_guest bound|past STORY: tells a story of profiler_stories.cpp, whose calls are bound as any
// library's, or past the preload.
#include <dlfcn.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int how = RTLD_NOW | RTLD_LOCAL;
  if (std::string(argv[1]) == "past") how |= RTLD_DEEPBIND;
  std::string self = argv[0];
  std::string library = self.substr(0, self.rfind('/') + 1) + "libprofiler_stories.so";
  void* stories = dlopen(library.c_str(), how);
  if (!stories) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  auto tell = reinterpret_cast<int (*)(const char*)>(dlsym(stories, "tell_story"));
  return tell ? tell(argv[2]) : 2;
}
