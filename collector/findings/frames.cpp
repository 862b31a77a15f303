// Tells the program's frames from those of what it uses, by where Python and distributions install packages.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

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
  FrameParts parts = parts_of(frame);
  return frame.substr(0, parts.line.empty() ? frame.size() : parts.file.size() + 1 + parts.line.size());
}

std::string_view without_folder(std::string_view file) { return file.substr(file.rfind('/') + 1); }

// By which a program of nvcc's launches its kernels: what the compiler makes, and headers of CUDA.
bool is_of_cuda(std::string_view frame) {
  if (frame.find(".cudafe1.") != frame.npos) return true;
  constexpr std::string_view kHeaders[] = {"cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h",
                                           "host_runtime.h"};
  std::string_view file = without_folder(parts_of(frame).file);
  return std::find(std::begin(kHeaders), std::end(kHeaders), file) != std::end(kHeaders);
}

// The interpreter's own C, of builds that come with debug information: what ends a program, and runs one.
bool is_of_cpython(std::string_view frame) {
  FrameParts parts = parts_of(frame);
  if (parts.line.empty() || !parts.file.ends_with(".c")) return false;
  constexpr std::string_view kFiles[] = {"pylifecycle.c", "pythonrun.c", "python.c", "ceval.c"};
  if (std::find(std::begin(kFiles), std::end(kFiles), without_folder(parts.file)) != std::end(kFiles))
    return true;
  std::string_view name =
      parts.function.substr(parts.function.starts_with('_'));  // Py_Exit, _PyEval_Vector, PyRun_File
  bool of_api = name.starts_with("Py") && name.size() > 2 &&
                (name[2] == '_' || std::isupper(static_cast<unsigned char>(name[2])));
  return of_api || name.starts_with("pymain_");
}

bool names(std::string_view title, std::string_view place) {
  for (std::size_t at = title.find(place); at != title.npos; at = title.find(place, at + 1)) {
    std::size_t end = at + place.size();
    bool starts = at == 0 || title[at - 1] == ' ', ends = end == title.size() || title[end] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

bool is_of_python(const FrameParts& frame) {
  return frame.file.ends_with(".py") || frame.file.starts_with('<');
}

// Names like that are the implementation's in C and C++; in Python they are anybody's.
bool has_reserved_name(const FrameParts& frame) {
  std::string_view name = frame.function;
  return !is_of_python(frame) && name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])));
}

// Of which frames a call is made through the language's library, to a thread's start or a kernel's launch,
// is a matter of its version.
bool is_of_the_language(std::string_view frame) {
  if (is_made_up(frame) || is_of_cuda(frame) || is_of_cpython(frame) || has_reserved_name(parts_of(frame)))
    return true;
  if (is_in_package(frame)) return false;
  constexpr std::string_view kParts[] = {"/lib/python3",  " std::",  " __libc_start_",
                                         " start_thread", " clone3", " _start"};
  constexpr std::string_view kModules[] = {"libc.so", "libc-", "libpthread", "libstdc++.so", "ld-linux"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return frame.find(part) != frame.npos; }) ||
         std::any_of(std::begin(kModules), std::end(kModules),
                     [&](std::string_view module) { return frame.starts_with(module); });
}

// "FILE FUNCTION", "MODULE FUNCTION": what stays while a package is built again.
std::string function_of(std::string_view frame) {
  FrameParts parts = parts_of(frame);
  if (!parts.line.empty()) return fmt::format("{} {}", without_folder(parts.file), parts.function);
  return std::string(frame.substr(0, frame.rfind("+0x")));
}

}  // namespace

FrameParts parts_of(std::string_view frame) {
  for (std::size_t colon = frame.find(':'); colon != frame.npos; colon = frame.find(':', colon + 1)) {
    std::size_t end = std::min(frame.find_first_not_of("0123456789", colon + 1), frame.size());
    if (end > colon + 1 && (end == frame.size() || frame[end] == ' '))
      return {frame.substr(0, colon), frame.substr(colon + 1, end - colon - 1),
              frame.substr(std::min(end + 1, frame.size()))};
  }
  return {frame, {}, {}};
}

std::string key_of_frame(std::string_view frame) {
  FrameParts parts = parts_of(frame);
  if (parts.line.empty()) return std::string(frame);
  std::string place = fmt::format("{}:{}", without_folder(parts.file), parts.line);
  return is_of_python(parts) ? fmt::format("{} {}", place, parts.function) : place;
}

std::string key_of_stack(const std::vector<std::string>& stack) {
  bool has_own = std::any_of(stack.begin(), stack.end(), [](const std::string& frame) {
    return !is_library_frame(frame) && !is_of_the_language(frame);
  });
  std::string key;
  for (const std::string& frame : stack)
    if (!is_of_the_language(frame))
      key += (has_own && is_library_frame(frame) ? function_of(frame) : key_of_frame(frame)) + "\n";
  return key.empty() && !stack.empty() ? key_of_frame(stack.front()) + "\n" : key;
}

std::string without_lines(std::string_view key) {
  std::string text;
  for (std::size_t at = 0; at < key.size();) {
    std::size_t end = key[at] == ':' ? std::min(key.find_first_not_of("0123456789", at + 1), key.size()) : at;
    bool is_line = end > at + 1 && (end == key.size() || key[end] == ' ' || key[end] == '\n');
    if (is_line)
      at = end;
    else
      text += key[at++];
  }
  return text;
}

std::string frame_in_title(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence)
    for (const std::string& frame : evidence.stack)
      if (!is_library_frame(frame) && names(finding.title, place_in(frame))) return frame;
  return "";
}

bool is_in_package(std::string_view frame) {
  return frame.find("/site-packages/") != frame.npos || frame.find("/dist-packages/") != frame.npos;
}

bool is_library_frame(std::string_view frame) {
  if (is_made_up(frame) || is_of_cuda(frame) || is_of_cpython(frame) || is_in_package(frame)) return true;
  constexpr std::string_view kLibraries[] = {"/lib/python3",  " std::",  ".so",      " __libc_start_",
                                             " start_thread", " clone3", " __clone3"};
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view part) { return frame.find(part) != std::string_view::npos; });
}

}  // namespace ddpscope::findings
