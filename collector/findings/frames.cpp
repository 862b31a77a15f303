// Tells the program's frames from those of what it uses, by where Python and distributions install packages.
#include <algorithm>

#include "collector/findings/finding.h"

namespace ddpscope::findings {

bool is_library_frame(std::string_view frame) {
  constexpr std::string_view kLibraries[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                             " std::", ".so"};
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view part) { return frame.find(part) != std::string_view::npos; });
}

}  // namespace ddpscope::findings
