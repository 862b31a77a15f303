// They stay open: libepoxy and Dear ImGui look for their functions by the same names.
#include "viewer/gl/libraries.h"

#include <dlfcn.h>

#include <string>

namespace ddpscope::viewer {

std::optional<Error> missing_library(std::span<const char* const> names) {
  for (const char* name : names)
    if (!dlopen(name, RTLD_LAZY | RTLD_GLOBAL)) {
      const char* why = dlerror();
      return Error{"OpenGL is missing here: " + std::string(why ? why : name), "",
                   "Debian and Ubuntu have it in libegl1, libgl1 and libgl1-mesa-dri, Red Hat's systems in "
                   "mesa-libEGL, mesa-libGL and mesa-dri-drivers"};
    }
  return std::nullopt;
}

}  // namespace ddpscope::viewer
