// Word after word.
#include "injector/core/memory_map.h"

#include <sys/sysmacros.h>

#include "injector/core/text_lines.h"

namespace ddpscope::injector {
namespace {

const char* behind(const char* at, const char* end, char separator) {
  while (at < end && *at != separator) ++at;
  while (at < end && *at == separator) ++at;
  return at;
}

std::uint64_t parse_decimal(const char* text, const char* end) {
  std::uint64_t number = 0;
  for (; text < end && *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

}  // namespace

Mapping parse_mapping(const char* line, std::size_t bytes) {
  const char* end = line + bytes;
  const char* offset = behind(behind(line, end, ' '), end, ' ');
  const char* device = behind(offset, end, ' ');
  const char* minor = behind(device, end, ':');
  const char* inode = behind(device, end, ' ');
  const char* path = behind(inode, end, ' ');
  return {
      parse_hex(line, end),
      parse_hex(behind(line, end, '-'), end),
      parse_hex(offset, end),
      makedev(static_cast<unsigned>(parse_hex(device, end)), static_cast<unsigned>(parse_hex(minor, end))),
      parse_decimal(inode, end),
      {path, static_cast<std::size_t>(end - path)}};
}

}  // namespace ddpscope::injector
