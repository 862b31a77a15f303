// Looks for words: in snake_case, in CamelCase, behind the lengths of mangled names.
#include "collector/patterns/optimizer_names.h"

#include <algorithm>
#include <cctype>

namespace ddpscope::patterns {
namespace {

constexpr std::string_view kKernels[] = {
#define DDPSCOPE_OPTIMIZER_KERNEL(words, whose, where) words,
#include "collector/patterns/optimizer_kernels.def"
#undef DDPSCOPE_OPTIMIZER_KERNEL
};
constexpr std::string_view kRanges[] = {
#define DDPSCOPE_OPTIMIZER_RANGE(words, example, where) words,
#include "collector/patterns/optimizer_ranges.def"
#undef DDPSCOPE_OPTIMIZER_RANGE
};

// Of a range: what is done before or after the update.
constexpr std::string_view kAround[] = {"before", "pre",   "prepare", "after", "post",
                                        "zero",   "clear", "unscale", "clip",  "sync"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)); }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)); }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// kOptimizer: an upper letter behind a lower one begins a word.
bool begins_word(std::string_view name, std::size_t at) {
  return at == 0 || !is_letter(name[at - 1]) || (is_lower(name[at - 1]) && is_upper(name[at]));
}

// AdamFunctor, and SGDFunctor: an upper letter begins a word behind a lower one, or before one.
bool ends_word(std::string_view name, std::size_t end) {
  if (end == name.size() || !is_letter(name[end])) return true;
  if (!is_upper(name[end])) return false;
  return is_lower(name[end - 1]) || (end + 1 < name.size() && is_lower(name[end + 1]));
}

bool has_word(std::string_view name, std::string_view word) {
  auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (auto from = name.begin();; ++from) {
    from = std::search(from, name.end(), word.begin(), word.end(), same);
    if (from == name.end()) return false;
    auto at = static_cast<std::size_t>(from - name.begin());
    if (begins_word(name, at) && ends_word(name, at + word.size())) return true;
  }
}

bool has_words(std::string_view name, std::string_view words) {
  while (true) {
    std::size_t blank = words.find(' ');
    if (!has_word(name, words.substr(0, blank))) return false;
    if (blank == words.npos) return true;
    words.remove_prefix(blank + 1);
  }
}

template <std::size_t count>
bool has_words_of_any(std::string_view name, const std::string_view (&rows)[count]) {
  return std::any_of(std::begin(rows), std::end(rows),
                     [&](std::string_view words) { return has_words(name, words); });
}

}  // namespace

bool is_optimizer_kernel(std::string_view name) { return has_words_of_any(name, kKernels); }
bool is_optimizer_range(std::string_view name) {
  return has_words_of_any(name, kRanges) && !has_words_of_any(name, kAround);
}

}  // namespace ddpscope::patterns
