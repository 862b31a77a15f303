// Texts cut and broken to the room that there is.
#include <algorithm>

#include "collector/reports/escape.h"
#include "viewer/draw/canvas.h"

namespace ddpscope::viewer {
namespace {

// The beginning of a character of UTF-8.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Bytes of `text` that fit, ending between characters.
std::size_t fitting(const Canvas& canvas, Face face, std::string_view text, float width) {
  std::size_t low = 0, high = text.size();
  while (low < high) {
    std::size_t middle = (low + high + 1) / 2;
    if (canvas.text_width(face, text.substr(0, middle)) <= width)
      low = middle;
    else
      high = middle - 1;
  }
  while (low > 0 && low < text.size() && !starts_character(text[low])) --low;
  return low;
}

// Bytes of the "#38" that it begins with.
std::size_t numbered(std::string_view text) {
  if (!text.starts_with('#')) return 0;
  return std::min(text.find_first_not_of("0123456789", 1), text.size());
}

}  // namespace

std::string_view drawn_as(std::string_view text, std::string& room) {
  bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  if (plain) return text;
  room = reports::escape(text);
  auto slashes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\\'));
  return room.size() == text.size() + slashes ? text : room;  // backslashes alone are no reason
}

std::string printable(std::string_view text) {
  std::string room;
  return std::string(drawn_as(text, room));
}

std::string cut_to(const Canvas& canvas, Face face, std::string_view original, float width) {
  std::string room;
  std::string_view text = drawn_as(original, room);
  if (canvas.text_width(face, text) <= width) return std::string(text);
  constexpr std::string_view kMore = "…";
  std::size_t bytes = fitting(canvas, face, text, width - canvas.text_width(face, kMore));
  while (bytes > 0 && text[bytes - 1] == ' ') --bytes;
  // "#3…" would be another collective than #38.
  if (std::size_t number = numbered(text); number > 0 && bytes <= number) {
    text = text.substr(0, number);
    return canvas.text_width(face, text) <= width ? std::string(text) : "";
  }
  if (bytes < 2) return "";
  return std::string(text.substr(0, bytes)) + std::string(kMore);
}

std::string cut_in_front(const Canvas& canvas, Face face, std::string_view original, float width) {
  std::string room;
  std::string_view text = drawn_as(original, room);
  if (canvas.text_width(face, text) <= width) return std::string(text);
  constexpr std::string_view kMore = "…";
  width -= canvas.text_width(face, kMore);
  while (!text.empty() && (!starts_character(text.front()) || canvas.text_width(face, text) > width))
    text.remove_prefix(1);
  return text.size() < 2 ? "" : std::string(kMore) + std::string(text);
}

std::vector<std::string> wrapped(const Canvas& canvas, Face face, std::string_view original, float width,
                                 std::size_t most) {
  std::string room;
  std::string_view text = drawn_as(original, room);
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    if (lines.size() + 1 == most || canvas.text_width(face, text) <= width) {
      lines.push_back(cut_to(canvas, face, text, width));
      break;
    }
    std::size_t bytes = std::max<std::size_t>(fitting(canvas, face, text, width), 1);
    std::size_t space = text.rfind(' ', bytes);
    // Long paths break behind a slash, calls behind their bracket, rather than in a name.
    if (space == std::string_view::npos || space == 0) {
      std::size_t before = text.find_last_of("/(", bytes - 1);
      space = before == std::string_view::npos || before == 0 ? bytes : before + 1;
    }
    lines.emplace_back(text.substr(0, space));
    text.remove_prefix(space);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return lines;
}

}  // namespace ddpscope::viewer
