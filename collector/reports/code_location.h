// Where in the program's source a finding is, for tools that open files.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "collector/findings/finding.h"

namespace ddpscope::reports {

struct CodeLocation {
  std::string file;      // as the frame names it: absolute, or as the program was started
  int line;              // from 1
  std::string function;  // may be empty
};

// A frame "FILE:LINE FUNCTION"; nothing if it has no line ("MODULE+0xOFFSET").
std::optional<CodeLocation> parse_frame(std::string_view frame);

// The innermost frame of the program's own: a Python frame if the stack has one, else a native one.
std::optional<CodeLocation> location_of(const findings::Evidence& evidence);

// What its title names; else of the evidence that of the ranks at fault before that of others, Python frames
// before native ones.
std::optional<CodeLocation> location_of(const findings::Finding& finding);

}  // namespace ddpscope::reports
