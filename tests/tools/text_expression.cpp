// Recursive descent: sum, product, factor.
#include "tests/tools/text_expression.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/tools/mistake.h"

namespace ddpscope::tests {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Parser {
 public:
  Parser(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  double parse() {
    double value = sum();
    skip_space();
    if (at_ != text_.size()) fail("unexpected '" + std::string(text_.substr(at_)) + "'");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& why) {
    throw Mistake{why + " in the expression '" + std::string(text_) + "'"};
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double divisor() {
    double value = factor();
    if (value == 0) fail("division by zero");
    return value;
  }

  double product() {
    double value = factor();
    while (true) {
      if (take("*")) {
        value *= factor();
      } else if (take("//")) {
        value = std::floor(value / divisor());
      } else if (take("/")) {
        value /= divisor();
      } else if (take("%")) {
        value = std::fmod(value, divisor());
      } else {
        return value;
      }
    }
  }

  double factor() {
    if (take("-")) return -factor();
    if (take("(")) {
      double value = sum();
      if (!take(")")) fail("missing ')'");
      return value;
    }
    skip_space();
    std::size_t start = at_;
    while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.')) ++at_;
    return value_of(std::string(text_.substr(start, at_ - start)));
  }

  double value_of(std::string word) {
    if (auto found = variables_.find(word); found != variables_.end())
      word = substitute(found->second, variables_);
    char* end = nullptr;
    double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end) fail("'" + word + "' is no number and no variable");
    return value;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

std::string value_at(std::string_view line, std::size_t& at, const Variables& variables, int depth);

std::string substitute_nested(std::string_view line, const Variables& variables, int depth) {
  if (depth > 16) throw Mistake{"a variable contains itself"};
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] != '$')
      out += line[at++];
    else
      out += value_at(line, ++at, variables, depth);
  }
  return out;
}

// What stands behind a $ at `at`; leaves `at` after it.
std::string value_at(std::string_view line, std::size_t& at, const Variables& variables, int depth) {
  if (at < line.size() && line[at] == '$') return ++at, "$";
  if (at < line.size() && line[at] == '{') {
    std::size_t close = line.find('}', at);
    if (close == line.npos) throw Mistake{"'${' without '}'"};
    double value = evaluate(line.substr(at + 1, close - at - 1), variables);
    at = close + 1;
    return number_text(value);
  }
  std::size_t start = at;
  while (at < line.size() && is_name(line[at])) ++at;
  std::string name(line.substr(start, at - start));
  auto found = variables.find(name);
  if (found == variables.end()) throw Mistake{"no variable '$" + name + "'", "write $$ for a dollar sign"};
  return substitute_nested(found->second, variables, depth + 1);
}

}  // namespace

double evaluate(std::string_view expression, const Variables& variables) {
  return Parser(expression, variables).parse();
}

std::string substitute(std::string_view line, const Variables& variables) {
  return substitute_nested(line, variables, 0);
}

std::string number_text(double value) {
  char text[64];
  if (value == std::floor(value) && std::fabs(value) < 9e15)
    std::snprintf(text, sizeof(text), "%.0f", value);
  else
    std::snprintf(text, sizeof(text), "%.9f", value);
  return text;
}

}  // namespace ddpscope::tests
