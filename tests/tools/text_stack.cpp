// Splits at " < ", then at the colon and the blank.
#include "tests/tools/text_stack.h"

#include <charconv>
#include <string>

#include "tests/tools/mistake.h"

namespace ddpscope::tests {
namespace {

PythonFrame parse_frame(std::string_view text) {
  std::size_t space = text.find(' ');
  std::size_t colon = text.substr(0, space).rfind(':');
  std::uint32_t line = 0;
  bool understood =
      space != text.npos && colon != text.npos &&
      std::from_chars(text.data() + colon + 1, text.data() + space, line).ptr == text.data() + space;
  if (!understood)
    throw Mistake{"'" + std::string(text) + "' is no frame",
                  "write: FILE:LINE FUNCTION < FILE:LINE FUNCTION"};
  return {std::string(text.substr(0, colon)), std::string(text.substr(space + 1)), line};
}

}  // namespace

std::vector<PythonFrame> parse_stack(std::string_view text) {
  std::vector<PythonFrame> frames;
  while (!text.empty()) {
    std::size_t end = text.find(" < ");
    frames.push_back(parse_frame(text.substr(0, end)));
    text = end == text.npos ? std::string_view{} : text.substr(end + 3);
  }
  return frames;
}

}  // namespace ddpscope::tests
