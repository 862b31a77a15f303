// What the program says on standard error. A reader that is gone or a log on a full disk must not change the
// exit code: what cannot be said is left out.
#pragma once
#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ddpscope::commands {

// No error, no SIGPIPE.
void write_to_stderr(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_to_stderr(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace ddpscope::commands
