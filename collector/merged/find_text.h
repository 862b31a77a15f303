// What a person types to find something.
#pragma once
#include <algorithm>
#include <string_view>

namespace ddpscope::merged {

// Whether `part` stands in `text`, letters of either case (A to Z).
inline bool contains_typed(std::string_view text, std::string_view part) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace ddpscope::merged
