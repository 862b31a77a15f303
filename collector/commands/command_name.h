// A name for the command that `run` starts: two runs of one name in one folder are attempts of one job.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace ddpscope::commands {

// Equal for equal words started in the same folder. A port may be another one each time: as the value of an
// option whose name ends in "port", or behind the last colon of a word, its number does not count.
std::string name_of_command(const std::filesystem::path& folder, const std::vector<std::string>& words);

}  // namespace ddpscope::commands
