// Blocks first, then words.
#include "tests/tools/text_lines.h"

#include <cmath>
#include <cstdlib>

#include "tests/tools/mistake.h"
#include "tests/tools/text_expression.h"

namespace ddpscope::tests {
namespace {

struct RawLine {
  int number;
  std::string_view text;
};

std::string_view trimmed(std::string_view text) {
  std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view without_comment(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '#' && !quoted) return text.substr(0, i);
  }
  return text;
}

std::vector<RawLine> raw_lines(std::string_view text) {
  std::vector<RawLine> lines;
  int number = 0;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(without_comment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty()) lines.push_back({number, line});
  }
  return lines;
}

// One word from the front of `rest`: key=value or value, where the value may be "quoted".
Word take_word(std::string_view& rest) {
  Word word;
  while (!rest.empty() && rest.front() != ' ' && rest.front() != '\t') {
    char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') {
      std::size_t close = rest.find('"');
      if (close == rest.npos) throw Mistake{"a quote is not closed"};
      word.text += rest.substr(0, close);
      rest.remove_prefix(close + 1);
    } else if (c == '=' && word.key.empty()) {
      word.key.swap(word.text);
    } else {
      word.text += c;
    }
  }
  rest = trimmed(rest);
  return word;
}

std::vector<Word> split_words(std::string_view line) {
  std::vector<Word> words;
  for (line = trimmed(line); !line.empty();) words.push_back(take_word(line));
  return words;
}

// for NAME in FIRST..LAST [every SECONDS] {
struct Loop {
  std::string name;
  std::int64_t first;
  std::int64_t last;
  std::int64_t every_ns;
};

Loop parse_loop(std::string_view line, const Variables& variables) {
  std::vector<Word> words = split_words(substitute(line, variables));
  std::size_t dots = words.size() > 3 ? words[3].text.find("..") : std::string::npos;
  bool shifts = words.size() == 7 && words[4].text == "every";
  if ((words.size() != 5 && !shifts) || words[2].text != "in" || dots == std::string::npos)
    throw Mistake{"a loop that is not understood", "write: for NAME in FIRST..LAST [every SECONDS] {"};
  const std::string& range = words[3].text;
  return {words[1].text, std::llround(evaluate(range.substr(0, dots), variables)),
          std::llround(evaluate(range.substr(dots + 2), variables)),
          shifts ? parse_seconds(words[5].text) : 0};
}

class Expander {
 public:
  Expander(std::vector<RawLine> lines, const std::function<void(const Line&)>& use)
      : lines_(std::move(lines)), use_(use) {}

  void run() {
    std::size_t end = block(0, 0);
    if (end != lines_.size()) throw Mistake{"'}' without a block", {}, lines_[end].number};
  }

 private:
  // Expands from line `at` to the '}' that closes its block, or the end; returns that place.
  std::size_t block(std::size_t at, std::int64_t shift_ns) {
    while (at < lines_.size() && lines_[at].text != "}") {
      const RawLine& line = lines_[at];
      try {
        at = statement(at, shift_ns);
      } catch (Mistake& mistake) {
        if (!mistake.line) mistake.line = line.number;
        throw;
      }
    }
    return at;
  }

  std::size_t statement(std::size_t at, std::int64_t shift_ns) {
    std::string_view text = lines_[at].text;
    if (text.starts_with("let ")) {
      define(text.substr(4));
    } else if (text.ends_with("{")) {
      return loop(at, shift_ns);
    } else {
      use_({lines_[at].number, shift_ns, split_words(substitute(text, variables_))});
    }
    return at + 1;
  }

  void define(std::string_view text) {
    std::size_t equals = text.find('=');
    if (equals == text.npos) throw Mistake{"'let' without '='", "write: let NAME = TEXT"};
    variables_[std::string(trimmed(text.substr(0, equals)))] = trimmed(text.substr(equals + 1));
  }

  std::size_t loop(std::size_t at, std::int64_t shift_ns) {
    Loop loop = parse_loop(lines_[at].text, variables_);
    if (loop.last < loop.first) throw Mistake{"a loop whose range is empty"};
    std::size_t end = at;
    for (std::int64_t i = loop.first; i <= loop.last; ++i) {
      variables_[loop.name] = std::to_string(i);
      end = block(at + 1, shift_ns + (i - loop.first) * loop.every_ns);
      if (end == lines_.size()) throw Mistake{"a block without '}'"};
    }
    variables_.erase(loop.name);
    return end + 1;
  }

  std::vector<RawLine> lines_;
  const std::function<void(const Line&)>& use_;
  Variables variables_;
};

}  // namespace

void expand_lines(std::string_view text, const std::function<void(const Line&)>& use) {
  Expander(raw_lines(text), use).run();
}

std::int64_t parse_seconds(std::string_view text) {
  std::string copy(text);
  char* end = nullptr;
  long double seconds = std::strtold(copy.c_str(), &end);
  if (copy.empty() || *end || !(std::fabs(seconds) < 1e9L))
    throw Mistake{"'" + copy + "' is no time", "times are seconds, such as 1.25"};
  return std::llround(seconds * 1e9L);
}

}  // namespace ddpscope::tests
