// A text file that an option names, other than a trace.
#pragma once
#include <string>

#include "trace/result.h"

namespace ddpscope::commands {

// Also of a pipe. Errors say what cannot be read and why; no more than 64 MiB.
Result<std::string> read_input(const std::string& path);

}  // namespace ddpscope::commands
