// Tells the program's frames from those of what it uses, by where Python and distributions install packages.
#include <algorithm>

#include "collector/findings/finding.h"

namespace ddpscope::findings {
namespace {

// Code that Python made up ("<frozen importlib._bootstrap>", "<__array_function__ internals>"), unless the
// user typed it.
bool is_made_up(std::string_view frame) {
  return frame.starts_with('<') && !frame.starts_with("<string>") && !frame.starts_with("<stdin>");
}

}  // namespace

bool is_library_frame(std::string_view frame) {
  if (is_made_up(frame)) return true;
  constexpr std::string_view kLibraries[] = {
      "/site-packages/", "/dist-packages/", "/lib/python3", " std::", ".so",
      " __libc_start_",  " start_thread",   " clone3"};
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view part) { return frame.find(part) != std::string_view::npos; });
}

}  // namespace ddpscope::findings
