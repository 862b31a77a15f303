// Escaping, one code point at a time.
#include "collector/reports/escape.h"

#include <fmt/format.h>

namespace ddpscope::reports {
namespace {

// Length of the well-formed UTF-8 sequence at the front, 0 if there is none (RFC 3629: shortest form only, no
// surrogates, at most U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF)
    return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4)
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3)
               ? 4
               : 0;
  return 0;
}

bool is_control(std::string_view sequence) {
  auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  return sequence.size() == 2 && first == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;  // C1
}

void append_escaped(std::string& out, std::string_view bytes) {
  if (bytes == "\n")
    out += "\\n";
  else if (bytes == "\t")
    out += "\\t";
  else
    for (char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    std::string_view head = text.substr(0, length ? length : 1);
    if (length == 0 || is_control(head))
      append_escaped(out, head);
    else if (head == "\\")
      out += "\\\\";
    else
      out += head;
    text.remove_prefix(head.size());
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    if (length)
      out += text.substr(0, length);
    else
      out += "\xEF\xBF\xBD";
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

}  // namespace ddpscope::reports
