// A text file that an option names, other than a trace.
#pragma once
#include <string>
#include <string_view>

#include "trace/result.h"

namespace ddpscope::commands {

// Also of a pipe. Errors say what cannot be read and why; no more than 64 MiB.
Result<std::string> read_input(const std::string& path);

// Without the mark by which editors say that a text is UTF-8.
std::string_view without_mark(std::string_view text);

// What `parse` makes of it. Its errors are told with the file's name.
template <class T>
Result<T> read_and_parse(const std::string& path, Result<T> (*parse)(std::string_view)) {
  auto text = read_input(path);
  if (!text) return text.error();
  auto parsed = parse(without_mark(*text));
  return parsed ? parsed : Error{parsed.error().what, path, parsed.error().hint};
}

}  // namespace ddpscope::commands
