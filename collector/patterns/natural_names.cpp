// Numbers get their length in front.
#include "collector/patterns/natural_names.h"

#include <algorithm>
#include <cctype>

namespace ddpscope::patterns {

std::string natural_key(std::string_view name) {
  std::string key;
  for (std::size_t at = 0; at < name.size();) {
    auto is_digit = [&](std::size_t i) { return std::isdigit(static_cast<unsigned char>(name[i])) != 0; };
    std::size_t end = at;
    while (end < name.size() && is_digit(end)) ++end;
    if (end == at) {
      key += name[at++];
      continue;
    }
    while (at + 1 < end && name[at] == '0') ++at;
    key += static_cast<char>('0' + std::min<std::size_t>(end - at, 40));
    key += name.substr(at, end - at);
    at = end;
  }
  return key;
}

}  // namespace ddpscope::patterns
