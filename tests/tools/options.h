// Options of the generators: pairs of a name and a value.
#pragma once
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

namespace ddpscope::tests {

template <class Number>
bool parse_number(const char* text, Number& number) {
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc{} && stop == end;
}
template <class Number>
bool parse_count(const char* text, Number& number) {
  return parse_number(text, number) && number > 0;
}

// The exit code of who cannot run.
inline int fail(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "error: %s\nhint: %s\n", what.c_str(), hint.c_str());
  return 2;
}

// Calls set(name, value) for each pair. 0, or the exit code if it is false or the last name has no value.
template <class Set>
int read_options(int argc, char** argv, const char* usage, Set&& set) {
  for (int i = 1; i < argc; i += 2)
    if (i + 1 == argc || !set(std::string(argv[i]), argv[i + 1]))
      return fail(std::string("'") + argv[i] + "' is not understood", usage);
  return 0;
}

}  // namespace ddpscope::tests
