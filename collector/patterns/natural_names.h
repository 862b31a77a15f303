// Names in the order in which people list them: clip9 before clip10.
#pragma once
#include <string>
#include <string_view>

namespace ddpscope::patterns {

// Compares as text like `name` does with the numbers in it taken as such.
std::string natural_key(std::string_view name);

}  // namespace ddpscope::patterns
