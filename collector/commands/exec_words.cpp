// NAME=VALUE, ours first.
#include "collector/commands/exec_words.h"

#include <unistd.h>

extern char** environ;

namespace ddpscope::commands {

std::vector<char*> exec_words(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    if (!changed.contains(text.substr(0, text.find('=')))) all.push_back(std::move(text));
  }
  for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
  return all;
}

}  // namespace ddpscope::commands
