// What this version knows of calls and payloads, as text: stored in each file, read by readers that know less
// or more. Lines: "payload NAME field:type:format ..." and "call NUMBER SYMBOL PAYLOAD BUDGET".
#pragma once
#include <cstddef>

namespace ddpscope::trace {

extern const char kSchemaText[];
extern const std::size_t kSchemaBytes;

}  // namespace ddpscope::trace
