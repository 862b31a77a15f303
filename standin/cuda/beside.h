// For libraries of the stand-ins: those that lie in the same folder.
#pragma once

#include <dlfcn.h>

#include <string>

namespace ddpscope::standin {

/// The library of that name which the process has, else the one beside the calling library, which is loaded
/// then. Null where there is none.
inline void* find_beside_us(const char* name) {
  if (void* loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return loaded;
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&find_beside_us), &self) || !self.dli_fname) return nullptr;
  std::string path = self.dli_fname;
  path.replace(path.rfind('/') + 1, std::string::npos, name);
  return dlopen(path.c_str(), RTLD_LAZY);
}

}  // namespace ddpscope::standin
