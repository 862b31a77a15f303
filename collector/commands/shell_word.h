// A word of a command line that is printed to be copied.
#pragma once
#include <string>
#include <string_view>

namespace ddpscope::commands {

// `text` quoted as a POSIX shell needs it, if it does; with control characters, or bytes that are no UTF-8,
// as bash's $'...'.
std::string shell_word(std::string_view text);

}  // namespace ddpscope::commands
