// Plain, single quotes, or $'...'.
#include "collector/commands/shell_word.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "collector/reports/escape.h"

namespace ddpscope::commands {
namespace {

std::string with_quotes_as(std::string_view text, std::string_view replacement) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += replacement;
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string shell_word(std::string_view text) {
  auto plain = [](unsigned char c) { return std::isalnum(c) || (c && std::strchr("/._-+=:@%,", c)); };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  // escape() doubles backslashes, which single quotes take as they are.
  std::string escaped = reports::escape(text);
  auto backslashes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\\'));
  if (escaped.size() == text.size() + backslashes) return "'" + with_quotes_as(text, "'\\''") + "'";
  return "$'" + with_quotes_as(escaped, "\\'") + "'";
}

}  // namespace ddpscope::commands
