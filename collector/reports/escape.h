// Text from a trace is somebody else's: before it reaches a terminal its control characters are spelled out.
#pragma once
#include <string>
#include <string_view>

namespace ddpscope::reports {

// Control characters (also the C1 ones and DEL), newlines, U+FFFE and U+FFFF and invalid UTF-8 become \n, \t
// or \xHH; a backslash becomes two.
std::string escape(std::string_view text);

// The same bytes with what is not valid UTF-8 replaced by U+FFFD: JSON has no other way to carry it.
std::string valid_utf8(std::string_view text);

// JSON whose strings hold DEL and the C1 control characters, which it allows, in their escaped form.
std::string escape_controls_of_json(std::string_view json);

}  // namespace ddpscope::reports
