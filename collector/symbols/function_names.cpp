// Walks a demangled name once; brackets are followed, so that what stands in them is no part of it.
#include "collector/symbols/function_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace ddpscope::symbols {
namespace {

constexpr std::string_view kUnnamed = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";
constexpr std::string_view kCall = "::operator()";

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Shortener {
 public:
  explicit Shortener(std::string_view name) : left_(name) {}

  std::string run() {
    while (!left_.empty() && step()) {
    }
    leave_call_operator_out();
    return std::move(name_);
  }

 private:
  bool step();  // false: the rest is not wanted
  void copy(std::size_t length) {
    length = std::min(length, left_.size());
    name_ += left_.substr(0, length);
    left_.remove_prefix(length);
  }
  bool at_word() const { return name_.empty() || !in_word(name_.back()); }
  void copy_operator();
  std::size_t bracketed() const;
  bool leave_arguments_out();
  void leave_call_operator_out();

  std::string_view left_;
  std::string name_;
};

// Its sign is no bracket.
void Shortener::copy_operator() {
  copy(kOperator.size());
  if (left_.starts_with("()") || left_.starts_with("[]")) return copy(2);
  if (left_.starts_with(" ")) {  // new, delete, a type: until its arguments
    return copy(std::min(left_.find('('), left_.size()));
  }
  copy(std::min(left_.find_first_not_of("<>=!+-*/%^&|~,"), left_.size()));
  if (left_.starts_with(" <")) left_.remove_prefix(1);  // which keeps operator< apart from its arguments
}

// Until the bracket with which the rest begins is closed. An arrow closes none.
std::size_t Shortener::bracketed() const {
  int depth = 0;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    bool arrow = left_[i] == '>' && i > 0 && left_[i - 1] == '-';
    if (left_[i] == '(' || left_[i] == '<' || left_[i] == '{' || left_[i] == '[') ++depth;
    if (left_[i] == ')' || (left_[i] == '>' && !arrow) || left_[i] == '}' || left_[i] == ']') --depth;
    if (depth == 0) return i + 1;
  }
  return left_.size();
}

// Behind them a function's name ends, unless something within it has the name.
bool Shortener::leave_arguments_out() {
  left_.remove_prefix(bracketed());
  for (std::string_view qualifier : {" const", " volatile", " &&", " &"})
    if (left_.starts_with(qualifier)) left_.remove_prefix(qualifier.size());
  if (!left_.starts_with("::")) return false;
  leave_call_operator_out();
  return true;
}

// A lambda has no other function.
void Shortener::leave_call_operator_out() {
  std::string_view name = name_;
  if (!name.ends_with(kCall)) return;
  name.remove_suffix(kCall.size());
  std::size_t last = name.rfind(':') + 1;  // npos: 0
  if (name.ends_with('}') || name.substr(last).starts_with("$_")) name_.resize(name.size());
}

bool Shortener::step() {
  if (left_.starts_with(kUnnamed)) return copy(kUnnamed.size()), true;
  if (left_.starts_with(kOperator) && at_word()) return copy_operator(), true;
  char next = left_.front();
  if (next == '(' && !name_.ends_with("decltype")) return leave_arguments_out();
  if (next == '(' || next == '<' || next == '{') return copy(bracketed()), true;
  if (next != ' ') return copy(1), true;
  name_.clear();  // it was the return type
  left_.remove_prefix(1);
  return true;
}

constexpr std::string_view kLeftOut = "…";

// Calls visit(character, depth) for each: in how many angle brackets it stands. Those of operators and arrows
// are none.
template <class Visit>
void for_each_with_depth(std::string_view name, Visit&& visit) {
  std::size_t depth = 0, sign_until = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kOperator) && i >= sign_until && (i == 0 || !in_word(name[i - 1])))
      sign_until = std::min(name.find_first_not_of("<>=-", i + kOperator.size()), name.size());
    bool arrow = i > 0 && name[i - 1] == '-';
    bool closes = name[i] == '>' && i >= sign_until && !arrow && depth > 0;
    if (closes) --depth;
    visit(name[i], depth);
    if (name[i] == '<' && i >= sign_until) ++depth;
  }
}

std::string without_deeper(std::string_view name, std::size_t deepest) {
  std::string text;
  bool leaves_out = false;
  for_each_with_depth(name, [&](char next, std::size_t depth) {
    if (depth <= deepest) {
      text += next;
    } else if (!leaves_out) {
      text += kLeftOut;
    }
    leaves_out = depth > deepest;
  });
  return text;
}

}  // namespace

std::string shortened(std::string_view name, std::size_t most) {
  if (name.size() <= most) return std::string(name);
  std::string text = without_deeper(name, 0);
  if (text.size() > most) {
    while (most > 0 && (text[most] & 0xC0) == 0x80) --most;  // no part of a character
    return text.substr(0, most) + std::string(kLeftOut);
  }
  for (std::size_t deepest = 1;; ++deepest) {
    std::string more = without_deeper(name, deepest);
    if (more.size() > most) return text;
    text = std::move(more);
  }
}

std::string shortened_frame(std::string_view frame) {
  std::size_t name = 0;
  for (std::size_t colon = frame.find(':'); name == 0 && colon != frame.npos;
       colon = frame.find(':', colon + 1)) {
    std::size_t end = frame.find_first_not_of("0123456789", colon + 1);
    if (end != frame.npos && end > colon + 1 && frame[end] == ' ') name = end + 1;
  }
  return std::string(frame.substr(0, name)) + shortened(frame.substr(name));
}

std::string without_arguments(std::string_view name) {
  std::string found = Shortener(name).run();
  return found.empty() ? std::string(name) : found;
}

std::string demangled(const char* name) {
  if (!name) return "??";
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    &std::free);
  return plain ? without_arguments(plain.get()) : name;
}

}  // namespace ddpscope::symbols
