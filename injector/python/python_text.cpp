// Python keeps strings as 1, 2 or 4 bytes a character.
#include "injector/python/python_text.h"

#include "injector/python/interpreter.h"

namespace ddpscope::injector::python {
namespace {

std::uint32_t character(Address data, std::size_t index, unsigned kind) {
  if (kind == 1) return at<std::uint8_t>(data, index);
  if (kind == 2) return at<std::uint16_t>(data, index * 2);
  return at<std::uint32_t>(data, index * 4);
}

// RFC 3629; how many bytes, at most 4.
std::size_t encode(std::uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  std::size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<char>(kLead[more] | c >> (6 * more));
  for (std::size_t i = 1; i <= more; ++i) out[i] = static_cast<char>(0x80 | (c >> (6 * (more - i)) & 0x3F));
  return more + 1;
}

// Where the characters are: behind the object's head, or, for an instance of a subclass, where that says.
Address data_of(Address text, std::uint32_t state) {
  if (!(state & string::kCompact)) return at<Address>(text, layout->string_data);
  return text + (state & string::kAscii ? layout->string_ascii_data : layout->string_data);
}

}  // namespace

std::size_t copy_text(Address text, char* out, std::size_t bytes) {
  auto state = at<std::uint32_t>(text, string::kState);
  auto length = at<std::size_t>(text, string::kLength);
  Address data = data_of(text, state);
  unsigned kind = state >> string::kKindShift & string::kKindMask;
  std::size_t used = 0;
  if (!data || !kind) return 0;  // before 3.12: one that was never looked at
  for (std::size_t i = 0; i < length && used + 4 <= bytes; ++i)
    used += encode(character(data, i, kind), out + used);
  return used;
}

}  // namespace ddpscope::injector::python
