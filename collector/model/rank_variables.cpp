// Numbers in an environment.
#include "collector/model/rank_variables.h"

#include <charconv>

namespace ddpscope::model {

std::optional<std::int32_t> environment_number(const Process& process, std::string_view name) {
  auto found = process.environment.find(name);
  if (found == process.environment.end()) return std::nullopt;
  std::int32_t number = 0;
  std::string_view text = found->second;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace ddpscope::model
