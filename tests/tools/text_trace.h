// The text-trace compiler: one screen of text (README.md) becomes a folder of trace files.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trace/calls.h"
#include "trace/result.h"

namespace ddpscope::tests {

// A call that the text has given a name to.
struct LabelledCall {
  std::string label;
  std::string host;
  std::int32_t pid;
  std::uint16_t thread;
  trace::Call call;
  std::uint64_t begin;  // ticks
};

struct CompiledTrace {
  std::size_t processes;
  std::size_t records;  // and items
  std::vector<LabelledCall> labels;
};

// Writes one file per process into `folder`, which is made if it is missing and must hold no trace yet.
// Errors: a mistake in the text (where = "line 12"), a folder that cannot be written.
Result<CompiledTrace> compile_text_trace(std::string_view text, const std::filesystem::path& folder);

}  // namespace ddpscope::tests
