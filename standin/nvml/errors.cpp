// Descriptions of NVML's errors: the words of their names in the header.
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "standin/nvml/boundary.h"

using namespace ddpscope::standin::nvml;

namespace {

struct Name {
  nvmlReturn_t result;
  std::string_view text;
};

#define RESULT(code) {code, #code},
constexpr Name kNames[] = {
#include "nvml_results.def"
};
#undef RESULT

// "NVML_ERROR_NOT_SUPPORTED": "Not Supported".
std::string words_of(std::string_view name) {
  for (std::string_view prefix : {"NVML_", "ERROR_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::string words;
  for (char letter : name) {
    const bool first = words.empty() || words.back() == ' ';
    words += letter == '_' ? ' ' : first ? letter : static_cast<char>(std::tolower(letter));
  }
  return words;
}

std::vector<std::string> describe_all() {
  std::vector<std::string> texts;
  for (const Name& known : kNames) texts.push_back(words_of(known.text));
  return texts;
}

}  // namespace

extern "C" const char* nvmlErrorString(nvmlReturn_t result) {
  static const auto& texts = *new std::vector<std::string>(describe_all());  // programs keep the pointers
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (kNames[i].result == result) return texts[i].c_str();
  }
  return "Unknown";
}
