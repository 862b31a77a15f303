// Words and environments as exec() and posix_spawn() take them.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace ddpscope::commands {

// Of `words`, which must outlive the result; nullptr behind the last.
std::vector<char*> exec_words(std::vector<std::string>& words);

// Ours, with these variables set on top.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed);

}  // namespace ddpscope::commands
