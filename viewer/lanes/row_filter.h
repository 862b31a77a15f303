// Which ranks a typed text asks for.
#pragma once
#include <cstdint>
#include <set>
#include <string_view>

#include "collector/merged/reader.h"

namespace ddpscope::viewer {

// Rank rows that match one of the parts between commas: "3" and "8-15" are ranks, anything else is part of
// the name of a host, a process or a role, in letters of either case. Empty if none does.
std::set<std::uint32_t> matching_rows(const merged::Reader& reader, std::string_view text);

}  // namespace ddpscope::viewer
