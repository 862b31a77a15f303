// A text trace as plain lines: comments gone, loops unrolled, variables replaced, words split.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpscope::tests {

struct Word {
  std::string key;  // before '=', empty for a word without one
  std::string text;
  bool has_key() const { return !key.empty(); }
};

struct Line {
  int number;             // in the text, from 1
  std::int64_t shift_ns;  // what the loops around it add to its time
  std::vector<Word> words;
};

// Calls `use` for each line in the order in which it happens in the text. Throws Mistake with a line number.
void expand_lines(std::string_view text, const std::function<void(const Line&)>& use);

// Seconds with up to nine digits behind the point. Throws Mistake.
std::int64_t parse_seconds(std::string_view text);

}  // namespace ddpscope::tests
