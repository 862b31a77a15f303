// A hash: the guest's environment is no place for long texts.
#include "collector/commands/command_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "trace/write/file_writer.h"

namespace ddpscope::commands {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

bool names_port(std::string_view option) { return option.starts_with('-') && option.ends_with("port"); }

// What of a word stays the same when a port changes.
std::string_view without_port(std::string_view word, std::string_view before) {
  if (names_port(before) && is_number(word)) return {};
  std::size_t equals = word.find('=');
  if (equals != word.npos && names_port(word.substr(0, equals)) && is_number(word.substr(equals + 1)))
    return word.substr(0, equals + 1);
  std::size_t colon = word.rfind(':');
  return colon != word.npos && is_number(word.substr(colon + 1)) ? word.substr(0, colon + 1) : word;
}

}  // namespace

std::string name_of_command(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  std::string text = folder.string();
  std::string_view before;
  for (const std::string& word : words) {
    text += '\0';
    text += without_port(word, before);
    before = word;
  }
  return fmt::format("{:016x}", trace::hash_bytes(text.data(), text.size()));
}

}  // namespace ddpscope::commands
