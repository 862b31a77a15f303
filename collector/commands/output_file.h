// The file that `-o` names. A regular file is replaced whole or stays as it was: never half a report.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "trace/result.h"

namespace ddpscope::commands {

// Whether `path` can be written, as far as that can be told before there is anything to write: an analysis
// may take minutes. `what`: for the error.
std::optional<Error> check_output(const std::string& path, std::string_view what = "the report");

// A regular file, or none yet: written beside it under another name, then renamed. Others (a pipe, /dev/null)
// are written as they are.
std::optional<Error> write_output(const std::string& path, std::string_view text,
                                  std::string_view what = "the report");

}  // namespace ddpscope::commands
