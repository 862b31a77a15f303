// A Python stack in text: "train.py:88 prepare < train.py:120 main", innermost frame first.
#pragma once
#include <string_view>
#include <vector>

#include "tests/tools/trace_scribe.h"

namespace ddpscope::tests {

std::vector<PythonFrame> parse_stack(std::string_view text);  // throws Mistake

}  // namespace ddpscope::tests
