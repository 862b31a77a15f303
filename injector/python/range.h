// Where the interpreter's own code lies.
#pragma once
#include <cstdint>

namespace ddpscope::injector::python {

extern std::uintptr_t code_start;
extern std::uintptr_t code_bytes;  // 0: no Python in this process

// Whether a hook that returns to `site` was called by the interpreter itself, not by an extension module.
inline bool is_interpreter(std::uintptr_t site) { return site - code_start < code_bytes; }

}  // namespace ddpscope::injector::python
