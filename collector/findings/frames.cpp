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

// "FILE:LINE"; all of a frame without a line.
std::string_view place_in(std::string_view frame) {
  for (std::size_t colon = frame.find(':'); colon != frame.npos; colon = frame.find(':', colon + 1)) {
    std::size_t end = std::min(frame.find_first_not_of("0123456789", colon + 1), frame.size());
    if (end > colon + 1 && (end == frame.size() || frame[end] == ' ')) return frame.substr(0, end);
  }
  return frame;
}

// By which a program of nvcc's launches its kernels: what the compiler makes, and headers of CUDA.
bool is_of_cuda(std::string_view frame) {
  if (frame.find(".cudafe1.") != frame.npos) return true;
  constexpr std::string_view kHeaders[] = {"cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h",
                                           "host_runtime.h"};
  std::string_view file = place_in(frame);
  file = file.substr(0, file.rfind(':'));
  file = file.substr(file.rfind('/') + 1);
  return std::find(std::begin(kHeaders), std::end(kHeaders), file) != std::end(kHeaders);
}

bool names(std::string_view title, std::string_view place) {
  for (std::size_t at = title.find(place); at != title.npos; at = title.find(place, at + 1)) {
    std::size_t end = at + place.size();
    bool starts = at == 0 || title[at - 1] == ' ', ends = end == title.size() || title[end] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace

std::string frame_in_title(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence)
    for (const std::string& frame : evidence.stack)
      if (!is_library_frame(frame) && names(finding.title, place_in(frame))) return frame;
  return "";
}

bool is_library_frame(std::string_view frame) {
  if (is_made_up(frame) || is_of_cuda(frame)) return true;
  constexpr std::string_view kLibraries[] = {
      "/site-packages/", "/dist-packages/", "/lib/python3", " std::", ".so",
      " __libc_start_",  " start_thread",   " clone3"};
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view part) { return frame.find(part) != std::string_view::npos; });
}

}  // namespace ddpscope::findings
