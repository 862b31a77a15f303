// Escaping, one code point at a time.
#include "collector/reports/escape.h"

#include <fmt/format.h>

#include <algorithm>

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

// Those that a terminal obeys, those that turn the direction of what follows (a path that reads otherwise),
// and those that XML has no way to hold.
bool is_control(std::string_view sequence) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;                      // C1
  if (sequence.size() == 3 && byte(0) == 0xEF) return byte(1) == 0xBF && byte(2) >= 0xBE;  // U+FFFE, U+FFFF
  if (sequence.size() != 3 || byte(0) != 0xE2) return false;
  bool separator_or_embedding = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;  // U+2028 to U+202E
  bool isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;                 // U+2066 to U+2069
  return separator_or_embedding || isolate;
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

std::string escape_controls_of_json(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    std::string_view head = json.substr(0, std::max<std::size_t>(sequence_length(json), 1));
    if (head.size() == 2 && is_control(head))
      out += fmt::format("\\u00{:02x}", static_cast<unsigned char>(head[1]));
    else
      out += head == "\x7f" ? "\\u007f" : head;
    json.remove_prefix(head.size());
  }
  return out;
}

}  // namespace ddpscope::reports
